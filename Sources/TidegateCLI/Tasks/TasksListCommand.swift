internal import ArgumentParser
internal import TidegateServer
internal import TidegateCore

/// `tidegate tasks list`.
struct TasksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the tasks that are not over, and those that ended lately.")

    @OptionGroup var control: ControlOptions

    func run() async throws {
        try await self.control.asking { () throws(ControlClientError) in
            self.control.answer(try await self.control.client.tasks(), TaskText.list)
        }
    }
}

/// `tidegate tasks show`.
struct TasksShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one task with all that is known about it.")

    @Argument(help: ArgumentHelp("The task's id.", valueName: "id"))
    var id: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        try await self.control.asking { () throws(ControlClientError) in
            self.control.answer(try await self.control.client.task(try TaskText.id(self.id)), TaskText.details)
        }
    }
}

internal import ArgumentParser
internal import TidegateServer
internal import TidegateCore

/// `tidegate tasks list`.
struct TasksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List unfinished and recently finished tasks.")

    @OptionGroup var control: ControlOptions

    func run() async throws {
        try await self.control.connecting { () throws(ControlClientError) in
            self.control.show(try await self.control.client.tasks(), TaskText.list)
        }
    }
}

/// `tidegate tasks show`.
struct TasksShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the details of a task.")

    @Argument(help: ArgumentHelp("Task id.", valueName: "id"))
    var id: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        try await self.control.connecting { () throws(ControlClientError) in
            self.control.show(try await self.control.client.task(try TaskText.id(self.id)), TaskText.details)
        }
    }
}

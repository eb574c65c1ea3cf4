internal import ArgumentParser
internal import TidegateServer
internal import TidegateCore

/// The arguments of `suspend`, `resume` and `cancel`.
struct TaskIDOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Task ids.", valueName: "id"))
    var ids: [String]

    @OptionGroup var control: ControlOptions

    func send(_ command: TaskCommand) async throws {
        for id in self.ids {
            try await self.control.connecting { () throws(ControlClientError) in
                let reply = try await self.control.client.command(command, try TaskText.id(id))
                self.control.show(reply) { task, _ in ["\(task.id) \(TaskText.state(task))"] }
            }
        }
    }
}

/// `tidegate tasks suspend`.
struct TasksSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Suspend tasks until they are resumed, also across restarts.")

    @OptionGroup var tasks: TaskIDOptions

    func run() async throws { try await self.tasks.send(.suspend) }
}

/// `tidegate tasks resume`.
struct TasksResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume suspended tasks.")

    @OptionGroup var tasks: TaskIDOptions

    func run() async throws { try await self.tasks.send(.resume) }
}

/// `tidegate tasks cancel`.
struct TasksCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "cancel", abstract: "Cancel tasks.")

    @OptionGroup var tasks: TaskIDOptions

    func run() async throws { try await self.tasks.send(.cancel) }
}

internal import ArgumentParser
internal import TidegateServer
internal import TidegateCore

/// What `suspend`, `resume` and `cancel` have in common.
struct OrderOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The tasks' ids.", valueName: "id"))
    var ids: [String]

    @OptionGroup var control: ControlOptions

    func give(_ command: TaskCommand) async throws {
        for id in self.ids {
            try await self.control.asking { () throws(ControlClientError) in
                let reply = try await self.control.client.command(command, try TaskText.id(id))
                self.control.answer(reply) { task, _ in ["\(task.id) \(TaskText.state(task))"] }
            }
        }
    }
}

/// `tidegate tasks suspend`.
struct TasksSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Let tasks rest until they are resumed, also after a restart.")

    @OptionGroup var order: OrderOptions

    func run() async throws { try await self.order.give(.suspend) }
}

/// `tidegate tasks resume`.
struct TasksResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let suspended tasks go on.")

    @OptionGroup var order: OrderOptions

    func run() async throws { try await self.order.give(.resume) }
}

/// `tidegate tasks cancel`.
struct TasksCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "cancel", abstract: "End tasks.")

    @OptionGroup var order: OrderOptions

    func run() async throws { try await self.order.give(.cancel) }
}

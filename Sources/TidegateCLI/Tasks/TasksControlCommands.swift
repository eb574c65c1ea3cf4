internal import ArgumentParser
internal import TidegateServer
internal import TidegateCore

/// The arguments of `suspend`, `resume` and `cancel`.
struct TaskReferenceOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Tasks: keys, names, ids or unambiguous beginnings of ids.", valueName: "task"))
    var tasks: [String]

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if self.quiet, self.control.json { throw ValidationError("--quiet and --json are mutually exclusive") }
    }

    /// How commands treat several tasks.
    static let help = """
        Every task is tried, even if one fails.

        Exit status: 0 on success; of several tasks the worst: 2 for usage errors, such as a word that fits several \
        tasks, then 1 if there is no such task or no daemon answers.
        """

    func send(_ command: TaskCommand) async throws {
        try await self.control.forEach(self.tasks) { id throws(ControlClientError) in
            let reply = try await self.control.client.command(command, id)
            if !self.quiet { self.control.show(reply) { task, _ in ["\(task.id) \(TaskText.state(task))"] } }
        }
    }
}

/// `tidegate tasks suspend`.
struct TasksSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Suspend tasks until they are resumed, also across restarts.",
        discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.suspend) }
}

/// `tidegate tasks resume`.
struct TasksResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume suspended tasks.", discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.resume) }
}

/// `tidegate tasks cancel`.
struct TasksCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel tasks.", discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.cancel) }
}

internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The root command.
struct TidegateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidegate", abstract: "Was it my network, or theirs?",
        discussion: """
            Monitors the kernel's links, addresses and routes; holds requests while there is no path and retries them \
            when it is back; exports metrics about every request to Prometheus.

            Exit status: 0 yes, 1 no or failed, 2 usage error, 3 unknown, 75 gave up waiting for a path, \
            126 command not executable, 127 command not found, 128+n terminated by signal n.
            """,
        version: "tidegate \(TidegateVersion.description)",
        subcommands: [
            StatusCommand.self, WatchCommand.self, ExplainCommand.self, WaitCommand.self, RunCommand.self,
            FetchCommand.self, ProbeCommand.self, TasksCommand.self, ConnectionsCommand.self, ServeCommand.self,
            GenerateCommand.self,
        ])
}

/// `tidegate generate`: prints starter files.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Print starter files.",
        subcommands: [GenerateConfigCommand.self, GenerateSchemaCommand.self])
}

/// `tidegate generate config`: prints the sidecar's configuration file.
struct GenerateConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print a configuration file with every key, its default and what it is for.",
        discussion: """
            The file does what the sidecar does without one. Keep the keys that you change.

            Example: tidegate generate config > tidegate.yml && tidegate serve --config.file tidegate.yml
            """)

    func run() throws { Terminal().print(String(ConfigurationTemplate.text.dropLast())) }
}

/// `tidegate generate schema`: prints the JSON Schema of the configuration file.
struct GenerateSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the JSON Schema of the configuration file, for editors.",
        discussion: "Example: tidegate generate schema > tidegate.schema.json")

    func run() throws { Terminal().print(ConfigurationJSONSchema.text) }
}

/// `tidegate tasks`: controls the daemon's tasks over its control socket.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "List, submit and control the tasks of a running daemon.",
        discussion: """
            Connects to the control socket of `tidegate serve`. A submitted task survives a crash of the daemon and a \
            reboot.

            A task is named by its key, its name, its id, or the beginning of its id (at least four characters) if \
            that is unambiguous. A key or name with several tasks means the one that is not over, or else the newest.

            Examples:
              tidegate tasks submit https://example.com/big.iso -o /srv/big.iso --key iso
              tidegate tasks wait iso
              tidegate tasks list --state failed

            The control socket is open to root, the daemon's user and the members of the socket's group. A user's \
            commands go to the daemon of that user; for root's daemon: --control.socket \
            \(DefaultPaths(user: 0, environment: { _ in nil }).socket). Nothing is sent to another user's daemon \
            without --control.user.

            Exit status: 0 on success, 1 if no daemon answers or there is no such task, 2 for usage errors, such as a \
            word that fits several tasks; "tasks wait" has its own.
            """,
        subcommands: [
            TasksListCommand.self, TasksShowCommand.self, TasksGetCommand.self, TasksSubmitCommand.self,
            TasksSuspendCommand.self,
            TasksResumeCommand.self, TasksCancelCommand.self, TasksWaitCommand.self, TasksWatchCommand.self,
        ])
}

internal import ArgumentParser
internal import Tidegate

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

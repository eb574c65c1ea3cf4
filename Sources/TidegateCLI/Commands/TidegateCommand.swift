internal import ArgumentParser
internal import Tidegate

/// The root command.
struct TidegateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidegate", abstract: "Was it my network, or theirs?",
        discussion: """
            Watches the kernel's links, addresses and routes; holds requests while there is no path and retries them \
            when there is one; and tells Prometheus what happened to every request.

            Exit codes: 0 yes, 1 no or failed, 2 usage, 3 unknown, 75 gave up waiting for a path, \
            126 and 127 command not runnable or not found, 128+n ended by a signal.
            """,
        version: "tidegate \(TidegateVersion.version)",
        subcommands: [
            StatusCommand.self, WatchCommand.self, ExplainCommand.self, WaitCommand.self, RunCommand.self,
            FetchCommand.self, TasksCommand.self, ServeCommand.self,
        ])
}

internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The options of `run`.
struct RunOptions: ParsableArguments {
    @OptionGroup var gate: GateOptions

    @Option(help: ArgumentHelp("Maximum number of retries after failures with a lost path.", valueName: "n"))
    var retry = 3

    @Option(
        help: ArgumentHelp("Maximum time to wait for a path; 0 tests once, inf waits forever.", valueName: "duration"))
    var timeout = "10m"

    @Argument(parsing: .postTerminator, help: "The command to run, after --.")
    var command: [String] = []

    /// The options as values.
    struct Parsed: Sendable {
        /// What to wait for before every run.
        var gate: GateOptions.Parsed
        var retryLimit: Int
    }

    func parsed() throws -> Parsed {
        guard !self.command.isEmpty else { throw ValidationError("no command specified; give it after --") }
        try OptionParsing.checkRetries(self.retry)
        let timeout = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        return Parsed(gate: try self.gate.parsed(timeout: timeout), retryLimit: self.retry)
    }

    func validate() throws { _ = try self.parsed() }
}

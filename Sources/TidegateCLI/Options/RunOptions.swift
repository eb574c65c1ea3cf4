internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The options of `run`.
struct RunOptions: ParsableArguments {
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Condition to wait for (repeatable; default: route).", valueName: "condition"))
    var conditions: [String] = []

    @Option(help: ArgumentHelp("Maximum number of retries after failures with a lost path.", valueName: "n"))
    var retry = 3

    @Option(
        help: ArgumentHelp("Maximum time to wait for a path; 0 tests once, inf waits forever.", valueName: "duration"))
    var timeout = "10m"

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    @Argument(parsing: .postTerminator, help: "The command to run, after --.")
    var command: [String] = []

    /// The options as values.
    struct Parsed: Sendable {
        /// What to wait for before every run.
        var gate: WaitOptions.Parsed
        var retryLimit: Int
        var isQuiet: Bool
    }

    func parsed() throws -> Parsed {
        guard !self.command.isEmpty else { throw ValidationError("no command specified; give it after --") }
        try OptionParsing.checkRetries(self.retry)
        let conditions = try self.conditions.map(ConditionText.parse)
        let gate = WaitOptions.Parsed(
            wait: WaitConfiguration(
                conditions.isEmpty ? [.route(family: nil)] : conditions, family: self.family.family,
                timeout: try OptionParsing.duration(self.timeout, of: "--timeout").duration),
            internetCheck: try self.internetCheck.policy(isRequired: conditions.contains(.internet)),
            isQuiet: self.quiet)
        return Parsed(gate: gate, retryLimit: self.retry, isQuiet: self.quiet)
    }

    func validate() throws { _ = try self.parsed() }
}

internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The options of `wait`.
struct WaitOptions: ParsableArguments {
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Condition to wait for (repeatable; all must hold).", valueName: "condition"))
    var conditions: [String] = []

    @Flag(help: "Wait until any of the conditions holds, instead of all.")
    var any = false

    @Option(help: ArgumentHelp("Require the conditions to hold this long without a break.", valueName: "duration"))
    var stable = "0"

    @Option(help: ArgumentHelp("Maximum time to wait; 0 tests once, inf waits forever.", valueName: "duration"))
    var timeout = "2m"

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    @Argument(parsing: .postTerminator, help: "The command to execute once the conditions hold, after --.")
    var command: [String] = []

    /// The options as values.
    struct Parsed: Sendable {
        var wait: WaitConfiguration
        /// The check behind the condition `internet`.
        var internetCheck: InternetCheckPolicy
        var isQuiet: Bool
    }

    func parsed() throws -> Parsed {
        guard !self.conditions.isEmpty else { throw ValidationError("no condition specified; use --for") }
        guard let stable = try OptionParsing.duration(self.stable, of: "--stable").duration else {
            throw ValidationError("--stable: must be finite")
        }
        let timeout = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        if let timeout, timeout != .zero, stable > timeout {
            throw ValidationError("--stable \(self.stable) is longer than --timeout \(self.timeout)")
        }
        let conditions = try self.conditions.map(ConditionText.parse)
        return Parsed(
            wait: WaitConfiguration(
                conditions, isAnyEnough: self.any, family: self.family.family, stable: stable, timeout: timeout),
            internetCheck: try self.internetCheck.policy(isRequired: conditions.contains(.internet)),
            isQuiet: self.quiet)
    }

    func validate() throws { _ = try self.parsed() }
}

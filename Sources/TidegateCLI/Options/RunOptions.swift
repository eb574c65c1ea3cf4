internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// Everything that `run` was told.
struct RunOptions: ParsableArguments {
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Wait for this, as often as wanted (default: route).", valueName: "condition"))
    var conditions: [String] = []

    @Option(help: ArgumentHelp("Run it again this often after a failure for want of a path.", valueName: "n"))
    var retry = 3

    @Option(
        help: ArgumentHelp("Wait this long for a path; 0 tests now, inf never gives up.", valueName: "duration"))
    var timeout = "10m"

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(name: .shortAndLong, help: "Say nothing of waiting and retrying.")
    var quiet = false

    @Argument(parsing: .postTerminator, help: "The command to run, after --.")
    var command: [String] = []

    /// The options as values.
    struct Values: Sendable {
        /// What to wait for, every time.
        var gate: WaitOptions.Values
        var retryLimit: Int
        var isQuiet: Bool
    }

    func values() throws -> Values {
        guard !self.command.isEmpty else { throw ValidationError("there is no command to run: give it after --") }
        guard (0...9999).contains(self.retry) else {
            throw ValidationError("--retry: \(self.retry) is not from 0 to 9999")
        }
        let conditions = try self.conditions.map(ConditionText.parse)
        let gate = WaitOptions.Values(
            conditions: conditions.isEmpty ? [.route(family: nil)] : conditions, isAnyEnough: false, stable: .zero,
            timeout: try OptionParsing.duration(self.timeout, of: "--timeout").duration, family: self.family.family,
            internetCheck: try self.internetCheck.policy(isAskedFor: conditions.contains(.internet)),
            isQuiet: self.quiet)
        return Values(gate: gate, retryLimit: self.retry, isQuiet: self.quiet)
    }

    func validate() throws { _ = try self.values() }
}

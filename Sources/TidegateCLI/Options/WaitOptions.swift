internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// Everything that `wait` was told.
struct WaitOptions: ParsableArguments {
    @Option(name: .customLong("for"), help: ArgumentHelp("Wait for this, as often as wanted.", valueName: "condition"))
    var conditions: [String] = []

    @Flag(help: "One of the conditions is enough.")
    var any = false

    @Option(help: ArgumentHelp("The conditions have to hold this long without a break.", valueName: "duration"))
    var stable = "0"

    @Option(help: ArgumentHelp("Give up after this time; 0 tests now, inf never gives up.", valueName: "duration"))
    var timeout = "2m"

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(name: .shortAndLong, help: "Say nothing while waiting.")
    var quiet = false

    @Argument(parsing: .postTerminator, help: "The command to run once the conditions hold, after --.")
    var command: [String] = []

    /// The options as values.
    struct Values: Sendable {
        var conditions: [WaitCondition]
        var isAnyEnough: Bool
        var stable: Duration
        /// Nil never gives up.
        var timeout: Duration?
        var family: AddressFamily?
        /// Whom the condition internet asks.
        var internetCheck: InternetCheckPolicy
        var isQuiet: Bool
    }

    func values() throws -> Values {
        guard !self.conditions.isEmpty else { throw ValidationError("there is nothing to wait for: give --for") }
        guard let stable = try OptionParsing.duration(self.stable, of: "--stable").duration else {
            throw ValidationError("--stable: inf would never be over")
        }
        let timeout = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        if let timeout, timeout != .zero, stable > timeout {
            throw ValidationError("--stable \(self.stable) does not fit into --timeout \(self.timeout)")
        }
        let conditions = try self.conditions.map(ConditionText.parse)
        return Values(
            conditions: conditions, isAnyEnough: self.any, stable: stable, timeout: timeout,
            family: self.family.family,
            internetCheck: try self.internetCheck.policy(isAskedFor: conditions.contains(.internet)),
            isQuiet: self.quiet)
    }

    func validate() throws { _ = try self.values() }
}

extension WaitOptions.Values {
    /// The targets that the conditions name, each once.
    var targets: [Target] {
        self.conditions.compactMap(\.target).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

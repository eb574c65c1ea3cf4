internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// How long a transfer waits, and how often it is tried.
struct TimeoutOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Try again this often where another try can help.", valueName: "n"))
    var retry = 3

    @Option(help: ArgumentHelp("Stop trying again after this time on the wire.", valueName: "duration"))
    var retryMaxTime = "1h"

    @Option(help: ArgumentHelp("Give up this long after the start, waits included.", valueName: "duration"))
    var maxTime = "inf"

    @Option(help: ArgumentHelp("Give a connection this long to come about.", valueName: "duration"))
    var connectTimeout = "10s"

    @Option(name: .customLong("wait"), help: ArgumentHelp("Wait this long for a path.", valueName: "duration"))
    var patience = "10m"

    @Option(
        help: ArgumentHelp(
            "Wait for this: routed, online, unmetered, interface:NAME or none.", valueName: "requirement"))
    var require: [String] = []

    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(help: "Do not wait for a path: try at once.")
    var noGate = false

    /// The options as values.
    struct Values: Sendable, Hashable {
        var attempts: Int
        var retryMaxTime: Duration?
        var deadline: Duration?
        var connectTimeout: Duration
        /// What the gate asks for; empty where there is no gate.
        var require: [Requirement]
        var patience: Duration?
        /// Whom the requirement online goes by.
        var internetCheck: InternetCheckPolicy
    }

    func values() throws -> Values {
        guard (0...9999).contains(self.retry) else {
            throw ValidationError("--retry: \(self.retry) is not from 0 to 9999")
        }
        let require = try self.require.map { text in
            try OptionParsing.naming("--require") { () throws(TextError) in try RequirementText.parse(text) }
        }
        if self.noGate, !require.isEmpty { throw ValidationError("--no-gate and --require exclude each other") }
        return Values(
            attempts: self.retry + 1, retryMaxTime: try self.limit(self.retryMaxTime, "--retry-max-time"),
            deadline: try self.limit(self.maxTime, "--max-time"),
            connectTimeout: try OptionParsing.positive(self.connectTimeout, of: "--connect-timeout"),
            require: self.noGate ? [] : require.isEmpty ? [.routed] : require,
            patience: try OptionParsing.duration(self.patience, of: "--wait").duration,
            internetCheck: try self.internetCheck.policy(isAskedFor: require.contains(.online)))
    }

    func validate() throws { _ = try self.values() }

    // A limit of nothing would fail every transfer; inf is how to ask for none.
    private func limit(_ text: String, _ option: String) throws -> Duration? {
        let limit = try OptionParsing.duration(text, of: option).duration
        guard limit != .zero else { throw ValidationError("\(option): 0 leaves no time; write inf for no limit") }
        return limit
    }
}

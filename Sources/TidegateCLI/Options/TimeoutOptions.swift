internal import ArgumentParser
internal import Tidegate

/// Timeouts, retries and the gate of a transfer.
struct TimeoutOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Maximum number of retries.", valueName: "n"))
    var retry = 3

    @Option(
        help: ArgumentHelp("Stop retrying after this time; time without a path does not count.", valueName: "duration"))
    var retryMaxTime = "1h"

    @Option(help: ArgumentHelp("Maximum time for a transfer, including all waits.", valueName: "duration"))
    var maxTime = "inf"

    @Option(help: ArgumentHelp("Connect timeout.", valueName: "duration"))
    var connectTimeout = "10s"

    @Option(name: .customLong("wait"), help: ArgumentHelp("Maximum time to wait for a path.", valueName: "duration"))
    var patience = "10m"

    @Option(
        help: ArgumentHelp(
            "Requirement to wait for: routed, online, unmetered, interface:NAME or none (repeatable).",
            valueName: "requirement"))
    var require: [String] = []

    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(help: "Do not wait for a path.")
    var noGate = false

    /// The options as values.
    struct Parsed: Sendable, Hashable {
        var retry: RetryPolicy
        var deadline: Duration?
        var connectTimeout: Duration
        var gate: GatePolicy
        /// The check behind the requirement `online`.
        var internetCheck: InternetCheckPolicy
    }

    func parsed() throws -> Parsed {
        try OptionParsing.checkRetries(self.retry)
        let require = try OptionParsing.requirements(self.require)
        try OptionParsing.exclude(("--no-gate", self.noGate), ("--require", !require.isEmpty))
        var parsed = Parsed(
            retry: RetryPolicy(
                attempts: self.retry + 1, maxElapsed: try self.limit(self.retryMaxTime, "--retry-max-time")),
            deadline: try self.limit(self.maxTime, "--max-time"),
            connectTimeout: try OptionParsing.positive(self.connectTimeout, of: "--connect-timeout"),
            gate: GatePolicy(
                require: require.isEmpty ? [.routed] : require,
                patience: try OptionParsing.duration(self.patience, of: "--wait").duration),
            internetCheck: try self.internetCheck.policy(isRequired: require.contains(.online)))
        if self.noGate { parsed.gate = .open }
        return parsed
    }

    func validate() throws { _ = try self.parsed() }

    // A limit of 0 would fail every transfer; unlike curl's, it does not mean unlimited.
    private func limit(_ text: String, _ option: String) throws -> Duration? {
        let limit = try OptionParsing.duration(text, of: option).duration
        guard limit != .zero else {
            throw ValidationError("\(option): must be greater than 0; use inf for no limit")
        }
        return limit
    }
}

/// Where response bodies are written.
struct DestinationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the body to this file; - is standard output.", valueName: "file"))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Name each file after the last path segment of its URL.")
    var remoteName = false

    @Option(help: ArgumentHelp("Write files to this directory, each named after its URL.", valueName: "dir"))
    var outputDir: String?

    @Flag(help: "Create missing directories of -o and --output-dir.")
    var createDirs = false

    @Flag(help: "Discard the bodies.")
    var discard = false

    func validate() throws {
        if self.createDirs, self.output == nil, self.outputDir == nil {
            throw ValidationError("--create-dirs requires -o or --output-dir")
        }
        if self.outputDir == "" { throw ValidationError("--output-dir: directory name is empty") }
        let given = [
            self.output.map { _ in "-o" }, self.remoteName ? "-O" : nil, self.outputDir.map { _ in "--output-dir" },
            self.discard ? "--discard" : nil,
        ].compactMap(\.self)
        guard given.count > 1, given != ["-O", "--output-dir"] else { return }
        throw ValidationError("\(given[0]) and \(given[1]) are mutually exclusive")
    }
}

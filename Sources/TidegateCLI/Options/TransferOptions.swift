internal import ArgumentParser
internal import Tidegate

/// HTTP options of `fetch`.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: [.customShort("F"), .long],
        help: .value(
            "part",
            "POST a form of parts NAME=VALUE, NAME=@FILE or NAME=<FILE (its contents as text), with ;type= and "
                + ";filename= as curl -F takes them (repeatable)."))
    var form: [String] = []

    @Option(
        name: [.customShort("u", allowingJoined: true), .customLong("user")],
        help: .value("user:password", "User and password, sent by Basic, or by Digest if the server asks for that."))
    var user: String?

    @Flag(
        name: [.customShort("n"), .long], help: "Take users and passwords of hosts from ~/.netrc; -u takes precedence.")
    var netrc = false

    @Option(help: .value("file", "Take them from this file instead."))
    var netrcFile: String?

    @Option(
        name: [.customShort("b"), .long],
        help: .value("file", "Send the cookies of this file (Netscape's format) without changing it."))
    var cookie: String?

    @Option(
        help: .value("file", "Send the cookies of this file (Netscape's format), and save the resulting cookies to it.")
    )
    var cookieJar: String?

    @Option(
        help: .value(
            "directory",
            """
            Keep the ETag and Last-Modified of downloads in this directory, and ask the server only whether a file that \
            is still there has changed.
            """))
    var validators: String?

    @Flag(name: .customLong("http2"), help: "Offer HTTP/2 to https servers.")
    var usesHTTP2 = false

    @Option(help: .value("n", "Maximum number of redirects to follow."))
    var maxRedirs = 10

    @Option(help: .value("bytes", "Maximum size of a body in bytes, decoded, such as 500k or 2M; a larger one fails."))
    var maxFilesize: String?

    /// The maximum size of a body; nil without a limit.
    func maxBodyBytes() throws -> Int? {
        try self.maxFilesize.map { try OptionParsing.bytes($0, of: "--max-filesize") }
    }

    /// The file with users and passwords; nil without one.
    var secretFile: String? { self.netrcFile ?? (self.netrc ? Netrc.ownFile : nil) }

    /// The entries of that file; nil without one, or if `-u` takes precedence.
    ///
    /// Warns about words that are skipped.
    func passwords() throws -> Netrc? {
        guard self.user == nil, let file = self.secretFile else { return nil }
        let netrc = try OptionParsing.naming("--netrc", Netrc(file, isRequired: self.netrcFile != nil))
        Terminal().warn(
            of: netrc.unknownLines.map {
                "\(file):\($0): a word is skipped: expected machine, default, login, password, account or macdef"
            }, in: file)
        return netrc
    }

    /// The parts of `--form`.
    func formFields() throws -> [FormField] {
        try self.form.map { try OptionParsing.naming("--form", FormField(parsing: $0)) }
    }

    /// The store of validators; nil without one.
    func validatorStore() throws -> ValidatorStore? {
        try self.validators.map { try OptionParsing.naming("--validators", ValidatorStore(directory: $0)) }
    }

    func validate() throws {
        if self.validators == "" { throw ValidationError("--validators: path is empty") }
        _ = try self.maxBodyBytes()
        _ = try self.formFields()
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is out of range (0 to 100)")
        }
        if self.netrcFile == "" { throw ValidationError("--netrc-file: path is empty") }
        if let user, !user.contains(":") { throw ValidationError("-u: expected user:password") }
    }
}

/// Timeouts, retries and the gate of a transfer.
struct TimeoutOptions: ParsableArguments {
    @Option(help: .value("n", "Maximum number of retries in a row without a new part of the body."))
    var retry = 3

    @Option(help: .value("duration", "Stop retrying after this time; time without a path does not count."))
    var retryMaxTime = "1h"

    @Option(help: .value("duration", "Maximum time for a transfer, including all waits."))
    var maxTime = "inf"

    @Option(help: .value("duration", "Connect timeout."))
    var connectTimeout = "10s"

    @Option(name: .customLong("wait"), help: .value("duration", "Maximum time to wait for a path."))
    var patience = "10m"

    @Option(
        help: .value(
            "requirement", "Requirement to wait for: routed, online, unmetered, interface:NAME or none (repeatable)."))
    var require: [String] = []

    @OptionGroup var internetCheck: InternetCheckOptions

    @Flag(help: "Do not wait for a path.")
    var noGate = false

    /// The parsed options.
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

    // A limit of 0 would fail every transfer: unlike in curl, it does not mean unlimited.
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
    @Option(name: .shortAndLong, help: .value("file", "Write the body to this file; - is standard output."))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Name each file after the last path segment of its URL.")
    var remoteName = false

    @Flag(
        name: [.customShort("J"), .long],
        help: "With -O or --output-dir: use the name in Content-Disposition, if any, and replace no file.")
    var remoteHeaderName = false

    @Flag(name: [.customShort("R"), .long], help: "Give each file the time of Last-Modified.")
    var remoteTime = false

    @Option(help: .value("dir", "Write files to this directory, each named after its URL."))
    var outputDir: String?

    @Flag(help: "Create missing directories of -o and --output-dir.")
    var createDirs = false

    @Flag(help: "Discard the bodies.")
    var discard = false

    func validate() throws {
        if self.createDirs, self.output == nil, self.outputDir == nil {
            throw ValidationError("--create-dirs requires -o or --output-dir")
        }
        if self.remoteHeaderName, !self.remoteName, self.outputDir == nil {
            throw ValidationError("--remote-header-name requires -O or --output-dir")
        }
        if self.remoteTime, self.output == nil, !self.remoteName, self.outputDir == nil {
            throw ValidationError("--remote-time requires -o, -O or --output-dir")
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

internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon
internal import TidegateProbes

/// `tidegate serve`: the sidecar.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the daemon: metrics, status page, scheduled and submitted tasks.",
        discussion: """
            Runs without a configuration file. SIGHUP reloads the configuration file; SIGTERM and SIGINT shut down \
            within ten seconds. -q is --log.level warn, -v is --log.level debug.

            Examples:
              tidegate serve
              tidegate serve --config.file tidegate.yml --config.check
              tidegate serve --web.listen-address 127.0.0.1:0 --state.dir /tmp/state --control.socket /tmp/control.sock

            Exit status: 0 after a shutdown, 1 if a port, the control socket or the state directory cannot be used or \
            fewer than 128 files may be open, 2 for usage and configuration errors.
            """)

    @Option(
        name: .customLong("config.file"),
        help: .value("file", "Configuration file (YAML), or a directory whose *.yml files are one configuration."))
    var configurationFile: String?

    @Flag(name: .customLong("config.check"), help: "Check the configuration files and exit.")
    var checksOnly = false

    @Flag(help: "With --config.check: print one JSON object with every problem.")
    var json = false

    @Option(
        name: .customLong("web.listen-address"),
        help: .value("host:port", "Address to listen on (repeatable; default: 127.0.0.1:9843)."))
    var listenAddresses: [String] = []

    @Option(
        name: .customLong("web.allowed-host"),
        help: .value(
            "host",
            "Name that requests may be for, besides addresses and localhost (repeatable; default: every name, none on "
                + "loopback addresses)."))
    var allowedHosts: [String] = []

    @Option(
        name: .customLong("web.config.file"),
        help: .value(
            "file",
            "Web configuration file: TLS, basic auth, headers and rate limit, in the format of Prometheus exporters."))
    var webConfigurationFile: String?

    @Option(name: .customLong("web.telemetry-path"), help: .value("path", "Path under which to expose metrics."))
    var telemetryPath = "/metrics"

    @Option(name: .customLong("web.max-requests"), help: .value("n", "Maximum number of concurrent HTTP requests."))
    var maxRequests = 40

    @Option(
        name: .customLong("timeout-offset"),
        help: .value("duration", "How much earlier than its scrape a probe of /probe ends."))
    var timeoutOffset = "0.5"

    @Option(
        name: .customLong("history.limit"),
        help: .value("n", "Number of probes to remember, and of failed ones before them."))
    var historyLimit = 100

    @Option(
        name: .customLong("control.socket"),
        help: .value("path", "Control socket to listen on (default: \(Terminal.defaultPaths.socket))."))
    var controlSocket: String?

    @Option(
        name: .customLong("state.dir"),
        help: .value("directory", "Directory for the task journal (default: \(Terminal.defaultPaths.state))."))
    var stateDirectory: String?

    @Option(name: .customLong("log.level"), help: .value("level", "Only log messages of this severity or above."))
    var logLevel: LogLevel = .info

    @Option(name: .customLong("log.format"), help: .value("format", "Format of log messages."))
    var logFormat: LogFormat = .logfmt

    @OptionGroup var verbosity: VerbosityOptions

    func validate() throws {
        for (option, file) in [
            ("--config.file", self.configurationFile), ("--web.config.file", self.webConfigurationFile),
        ] where file == "" {
            throw ValidationError("\(option): file name is empty")
        }
        _ = try self.settings()
        if self.checksOnly, self.files.isEmpty {
            throw ValidationError("--config.check requires --config.file or --web.config.file")
        }
        if self.json, !self.checksOnly { throw ValidationError("--json requires --config.check") }
        try OptionParsing.exclude(("--json", self.json), ("--quiet", self.verbosity.quiet))
    }

    func run() async throws {
        DescriptorLimit.raise()
        do {
            let daemon = try await Daemon(try self.settings())
            guard self.checksOnly else { return try await daemon.run() }
            if self.json { return self.report([]) }
            for file in self.files where !self.verbosity.quiet { Terminal().print("\(file): ok") }
        } catch let error as DaemonError {
            if self.json, case .configuration(let error) = error {
                self.report(error.problems)
                throw CommandError(.usage)
            }
            throw CommandError(error)
        }
    }

    private func report(_ problems: [ConfigurationError.Problem]) {
        let list = JSONValue.array(problems.map(\.json))
        let object: JSONValue = ["schema": 1, "ok": .bool(problems.isEmpty), "problems": list]
        Terminal().print(object.description)
    }

    private var files: [String] { [self.configurationFile, self.webConfigurationFile].compactMap(\.self) }

    private func settings() throws -> DaemonSettings {
        var settings = DaemonSettings(paths: Terminal.defaultPaths)
        settings.configurationFile = self.configurationFile
        settings.webConfigurationFile = self.webConfigurationFile
        settings.logLevel = self.verbosity.quiet ? .warn : self.verbosity.verbose ? .debug : self.logLevel
        settings.logFormat = self.logFormat
        settings.version = TidegateVersion.version
        try OptionParsing.naming("--web.listen-address", settings.setListenAddresses(self.listenAddresses))
        try OptionParsing.naming("--web.allowed-host", settings.setAllowedHosts(self.allowedHosts))
        try OptionParsing.naming("--web.telemetry-path", settings.setTelemetryPath(self.telemetryPath))
        try OptionParsing.naming("--web.max-requests", settings.setMaxRequests(self.maxRequests))
        settings.probes.timeoutOffset = try OptionParsing.seconds(self.timeoutOffset, of: "--timeout-offset")
        try OptionParsing.naming("--history.limit", settings.setHistoryLimit(self.historyLimit))
        if let path = self.controlSocket {
            try OptionParsing.naming("--control.socket", settings.setControlSocket(path))
        }
        if let directory = self.stateDirectory {
            try OptionParsing.naming("--state.dir", settings.setStateDirectory(directory))
        }
        return settings
    }
}

extension LogLevel: ExpressibleByArgument {}

extension LogFormat: ExpressibleByArgument {}

extension ConfigurationError.Problem {
    /// The problem in the JSON of `--config.check` and `tidegate probe --check`.
    var json: JSONValue {
        [
            "file": .string(self.file), "line": .optional(self.line), "key": .optional(self.key),
            "message": .string(self.message),
        ]
    }
}

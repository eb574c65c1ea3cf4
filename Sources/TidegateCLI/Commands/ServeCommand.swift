internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// `tidegate serve`: the sidecar.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Watch the network, run scheduled requests, answer Prometheus.",
        discussion: """
            Works without a configuration file: reachability, metrics and the status page. SIGHUP reads the file \
            again, SIGTERM ends within ten seconds.
            """)

    @Option(
        name: .customLong("config.file"),
        help: ArgumentHelp("Read the configuration from this file.", valueName: "file"))
    var configurationFile: String?

    @Flag(name: .customLong("config.check"), help: "Check the configuration files and end.")
    var checksOnly = false

    @Option(
        name: .customLong("web.listen-address"),
        help: ArgumentHelp("Answer HTTP here, as often as wanted (default: 127.0.0.1:9843).", valueName: "host:port"))
    var listenAddresses: [String] = []

    @Option(
        name: .customLong("web.config.file"),
        help: ArgumentHelp(
            "Answer HTTP as this file says: TLS, users, headers, rate; the format of Prometheus's exporters.",
            valueName: "file"))
    var webConfigurationFile: String?

    @Option(
        name: .customLong("web.telemetry-path"),
        help: ArgumentHelp("Expose metrics at this path.", valueName: "path"))
    var telemetryPath = "/metrics"

    @Option(
        name: .customLong("web.max-requests"),
        help: ArgumentHelp("Answer at most this many requests at once.", valueName: "n"))
    var maxRequests = 40

    @Option(
        name: .customLong("control.socket"),
        help: ArgumentHelp(
            "Answer commands at this Unix socket (default: \(Terminal.places.socket)).", valueName: "path"))
    var controlSocket: String?

    @Option(
        name: .customLong("state.dir"),
        help: ArgumentHelp(
            "Keep accepted tasks in this directory (default: \(Terminal.places.state)).", valueName: "directory"))
    var stateDirectory: String?

    @Option(
        name: .customLong("log.level"),
        help: ArgumentHelp("Write lines from this level on.", valueName: "level"))
    var logLevel: LogLevel = .info

    @Option(name: .customLong("log.format"), help: ArgumentHelp("Write lines in this format.", valueName: "format"))
    var logFormat: LogFormat = .logfmt

    func validate() throws {
        for (option, file) in [
            ("--config.file", self.configurationFile), ("--web.config.file", self.webConfigurationFile),
        ] where file == "" {
            throw ValidationError("\(option): \"\" does not name a file")
        }
        _ = try self.settings()
        if self.checksOnly, self.files.isEmpty {
            throw ValidationError("--config.check needs --config.file or --web.config.file")
        }
    }

    func run() async throws {
        do {
            let daemon = try Daemon(try self.settings())
            if self.checksOnly {
                for file in self.files { Terminal().answer("\(file): ok") }
            } else {
                try await daemon.run()
            }
        } catch let error as DaemonError {
            throw Ending(error)
        }
    }

    private var files: [String] { [self.configurationFile, self.webConfigurationFile].compactMap(\.self) }

    private func settings() throws -> DaemonSettings {
        var settings = DaemonSettings(places: Terminal.places)
        settings.configurationFile = self.configurationFile
        settings.webConfigurationFile = self.webConfigurationFile
        settings.logLevel = self.logLevel
        settings.logFormat = self.logFormat
        settings.version = TidegateVersion.version
        try OptionParsing.naming("--web.listen-address") { () throws(TextError) in
            try settings.listen(at: self.listenAddresses)
        }
        try OptionParsing.naming("--web.telemetry-path") { () throws(TextError) in
            try settings.expose(at: self.telemetryPath)
        }
        try OptionParsing.naming("--web.max-requests") { () throws(TextError) in
            try settings.allow(requests: self.maxRequests)
        }
        if let path = self.controlSocket {
            try OptionParsing.naming("--control.socket") { () throws(TextError) in try settings.control(at: path) }
        }
        if let directory = self.stateDirectory {
            try OptionParsing.naming("--state.dir") { () throws(TextError) in try settings.keepState(in: directory) }
        }
        return settings
    }
}

extension LogLevel: ExpressibleByArgument {}

extension LogFormat: ExpressibleByArgument {}

extension Ending {
    /// A bad configuration is a usage error; a machine that refuses a port is not.
    init(_ error: DaemonError) {
        switch error {
        case .configuration: self.init(.usage, error.description)
        case .resource: self.init(.no, error.description)
        }
    }
}

internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon
internal import TidegateMetrics
internal import TidegateProbes
internal import TidegateServer

/// `tidegate probe`: one probe.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe", abstract: "Probe a target once by a module of blackbox_exporter, and print the metrics.",
        discussion: """
            Modules are read from the configuration file of tidegate serve, or from one of blackbox_exporter. Without a \
            file there is one module, http_2xx, which requests a URL and expects a 2xx status.

            Reads the kernel directly; needs no daemon and no privileges. Without a path to the target the probe ends \
            immediately, and its result says nothing about the target.

            --check compares instead of probing: it lists the keys of a file that blackbox_exporter treats \
            differently, and those that are refused here. docs/probes.md also has what no key decides.

            Examples:
              tidegate probe http_2xx https://example.com/
              tidegate probe --config.file /etc/prometheus/blackbox.yml --debug http_post_2xx http://10.0.0.7:8080/
              tidegate probe --check /etc/prometheus/blackbox.yml

            Exit status: 0 if the probe succeeds, 1 if it fails, 2 for usage and configuration errors, 3 if this host \
            has no path to the target. With --check: 0 if no key behaves differently, 1 if one does, 2 if the file \
            cannot be read.
            """)

    @Argument(help: .value("module", "Name of the module."))
    var module: String?

    @Argument(help: .value("target", "Target to probe."))
    var target: String?

    @Option(name: .customLong("config.file"), help: .value("file", "Configuration file (YAML)."))
    var configurationFile: String?

    @Option(help: .value("duration", "Maximum time, if the module has none."))
    var timeout = "10s"

    @Flag(help: "Also print the log and the module, as -v does.")
    var debug = false

    @Option(help: .value("file", "List what blackbox_exporter does differently with this configuration file."))
    var check: String?

    @Flag(help: "With --check: print one JSON object.")
    var json = false

    @OptionGroup var verbosity: VerbosityOptions

    func validate() throws {
        _ = try OptionParsing.positive(self.timeout, of: "--timeout")
        try OptionParsing.exclude(("--json", self.json), ("--quiet", self.verbosity.quiet))
        if self.check == nil {
            if self.json { throw ValidationError("--json requires --check") }
            if self.target == nil { throw ValidationError("a module and a target are required, or --check FILE") }
        } else if self.module != nil || self.configurationFile != nil || self.debug || self.verbosity.verbose {
            throw ValidationError("--check takes no module, target, --config.file, --debug or --verbose")
        }
    }

    func run() async throws {
        if let file = self.check { return try self.compare(file) }
        let target = self.target ?? ""
        let limit = try OptionParsing.positive(self.timeout, of: "--timeout")
        let probes = try self.probes()
        let monitor = OneShotMonitor(targets: [])
        let diagnostics = monitor.diagnostics()
        let runner = ProbeRunner(
            probes, paths: monitor.reachability, resolver: monitor.resolver,
            cause: { await diagnostics.cause(of: $0.subject, within: .seconds(3)) }, time: monitor.time,
            own: monitor.own)
        _ = await monitor.reachability.firstStatus(within: OneShotMonitor.resolveTimeout)
        let report: ProbeReport
        do throws(ProbeRefusal) {
            report = try await runner.probe(
                ProbeQuestion(module: self.module ?? "", target: target, scrapeTimeout: "\(limit.inSeconds)"))
        } catch {
            throw ValidationError(self.sentence(error))
        }
        let metrics = String(decoding: ProbeExposition.text(report.families), as: UTF8.self)
        let terminal = Terminal()
        let text = self.debug || self.verbosity.verbose ? report.debugText : metrics
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) where !self.verbosity.quiet {
            terminal.print(String(line))
        }
        guard let failure = report.failure else { return }
        throw CommandError(
            report.isGated ? .unknown : .no, "\(target): \(failure.text) (\(failure.party))")
    }

    private func probes() throws -> ProbeRunner.Configuration {
        var probes = ProbeRunner.Configuration()
        probes.modules = ["http_2xx": ProbeModule(prober: .http(), text: "prober: http\n")]
        if let file = self.configurationFile {
            probes = try Result { () throws(ConfigurationError) in try Configuration.load(file: file).probes }
                .mapError { CommandError(.configuration($0)) }.get()
        }
        // No scrape waits for this probe, so it may use the whole time.
        probes.timeoutOffset = .zero
        return probes
    }

    private func sentence(_ refusal: ProbeRefusal) -> String {
        switch refusal {
        case .unknownModule(let name):
            self.configurationFile.map { "unknown module \"\(name)\": \($0) does not define it" }
                ?? "unknown module \"\(name)\": give the file that defines it with --config.file"
        case .missingTarget: "the target is empty"
        case .badTimeout(let text): "\"\(text)\" is not a number of seconds"
        case .invalidHostname(let name): "\"\(name)\" is not a host name"
        case .credentials(let module): "the credentials of the module \(module) may not be sent"
        case .tooMany(let limit): "\(limit) probes are running"
        case .hostnameConflict(let module, _): "the module asks for the host \(module)"
        }
    }
}

extension ProbeCommand {
    /// Prints what blackbox_exporter does differently with a configuration.
    private func compare(_ file: String) throws {
        let differences = try Result { () throws(ConfigurationError) in try ModuleDifference.all(inFile: file) }
            .mapError { CommandError(.configuration($0)) }.get()
        let terminal = Terminal()
        if self.json {
            terminal.print((["schema": 1, "differences": .array(differences.map(\.json))] as JSONValue).description)
        } else if !self.verbosity.quiet {
            let width = max(20, terminal.isOutputTerminal ? terminal.outputStyle.width : ExplanationText.maxWidth) - 4
            for line in differences.flatMap({ $0.lines(width: width) }) { terminal.print(line) }
            let count = Set(differences.map { [$0.place.file, "\($0.place.line ?? 0)", $0.place.key] }).count
            let keys = count == 1 ? "1 key behaves" : "\(count) keys behave"
            terminal.print(count == 0 ? "\(file) behaves the same here" : "\(keys) differently")
        }
        if !differences.isEmpty { throw CommandError(.no) }
    }
}

extension ModuleDifference {
    /// The difference in lines of at most `width` columns, and an indent of four.
    fileprivate func lines(width: Int) -> [String] {
        let sides = [self.exporter.map { "blackbox_exporter: \($0)" }, self.here.map { "Tidegate: \($0)" }]
        let lines = ([self.place.description] + sides.compactMap(\.self)).flatMap { LineWrapper.lines($0, to: width) }
        return lines.enumerated().map { $0 == 0 ? $1 : "    \($1)" }
    }

    fileprivate var json: JSONValue {
        self.place.json.adding(.init("blackbox_exporter", .optional(self.exporter)))
            .adding(.init("tidegate", .optional(self.here)))
    }
}

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

            Examples:
              tidegate probe http_2xx https://example.com/
              tidegate probe --config.file /etc/prometheus/blackbox.yml --debug http_post_2xx http://10.0.0.7:8080/

            Exit status: 0 if the probe succeeds, 1 if it fails, 2 for usage and configuration errors, 3 if this host \
            has no path to the target.
            """)

    @Argument(help: .value("module", "Name of the module."))
    var module: String

    @Argument(help: .value("target", "Target to probe."))
    var target: String

    @Option(name: .customLong("config.file"), help: .value("file", "Configuration file (YAML)."))
    var configurationFile: String?

    @Option(help: .value("duration", "Maximum time, if the module has none."))
    var timeout = "10s"

    @Flag(help: "Also print the log and the module, as -v does.")
    var debug = false

    @OptionGroup var verbosity: VerbosityOptions

    func validate() throws { _ = try OptionParsing.positive(self.timeout, of: "--timeout") }

    func run() async throws {
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
                ProbeQuestion(module: self.module, target: self.target, scrapeTimeout: "\(limit.inSeconds)"))
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
            report.isGated ? .unknown : .no, "\(self.target): \(failure.text) (\(failure.party))")
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

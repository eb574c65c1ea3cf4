import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateNetwork
@testable import TidegateProbes
import TidegateTestKit
import TidegateTesting
import TidegateTransfer

/// A runner whose names and paths a test sets; its requests go to loopback.
struct ProbeFixture {
    let runner: ProbeRunner
    let resolver: ScriptedResolver
    /// What the rungs below were asked about.
    let doubts = RecordedDoubts()

    static let loopback = IPAddress(ipv4: 0x7F00_0001)

    init(
        _ options: HTTPProbeOptions = HTTPProbeOptions(), timeout: Duration? = .seconds(20),
        names: [String: [IPAddress]] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        historyLimit: Int = 100, maxConcurrent: Int = 512, bodyBudget: Int64 = 64 << 20,
        path: @escaping @Sendable (IPAddress) -> Verdict = { _ in .unknown },
        host: Verdict = .unknown, cause: Cause? = nil, module: ProbeModule? = nil, echo: EchoClient = EchoClient(),
        own: OwnSockets? = nil, credentials: [String: [ProbeTargetPolicy.Entry]] = [:],
        time: any TimeSource = SystemClock(), isRouted: Bool = true
    ) {
        let doubts = self.doubts
        let resolver = ScriptedResolver(
            ["tide.test": [Self.loopback], "other.test": [Self.loopback]].merging(names) { $1 })
        self.resolver = resolver
        var configuration = ProbeRunner.Configuration()
        configuration.modules["m"] =
            module ?? ProbeModule(prober: .http(options), timeout: timeout, text: "prober: http\n")
        (configuration.targets, configuration.bodyBudget) = (targets, ByteText(bodyBudget))
        (configuration.historyLimit, configuration.maxConcurrent) = (historyLimit, maxConcurrent)
        configuration.targets.credentials = credentials
        self.runner = ProbeRunner(
            configuration,
            environment: ProbeEnvironment(
                resolver: resolver,
                network: ProbeEnvironment.Network(
                    route: { AddressRoute(verdict: path($0), link: "eth0") }, isRouted: { _, _ in isRouted },
                    internet: { host },
                    cause: { doubt in
                        doubts.add(doubt)
                        return cause
                    }),
                attempts: AttemptClient(name: "tg-probe", own: own), time: time,
                call: { delay, body in
                    Task {
                        try? await Task.sleep(for: delay)
                        body()
                    }
                }, version: "1.2.3", echo: echo, own: own))
    }

    func probe(_ target: String, hostname: String? = nil, isTrusted: Bool = true) async throws -> ProbeReport {
        try await self.runner.probe(
            ProbeQuestion(module: "m", target: target, hostname: hostname, isTrusted: isTrusted))
    }
}

/// Every doubt about whose a failure was.
final class RecordedDoubts: Sendable {
    private let list = Mutex<[ProbeDoubt]>([])

    var all: [ProbeDoubt] { self.list.withLock { $0 } }

    func add(_ doubt: ProbeDoubt) { self.list.withLock { $0.append(doubt) } }
}

extension ProbeReport {
    /// The value of a series; nil without one.
    func value(_ name: String, _ labels: String...) -> Double? {
        self.families.first { $0.name == name }?.value(labels: labels)
    }

    /// The phases of `probe_http_duration_seconds`.
    var phases: Set<String> { self.phases(of: "http") }

    /// The phases of a prober's durations.
    func phases(of prober: String) -> Set<String> {
        let family = self.families.first { $0.name == "probe_\(prober)_duration_seconds" }
        return Set(family?.samples.map { $0.labels[0] } ?? [])
    }
}

/// The options of a prober.
protocol ProberOptions { init() }

extension ProberOptions {
    /// blackbox_exporter's defaults with a change.
    static func with(_ change: (inout Self) throws -> Void) rethrows -> Self {
        var options = Self()
        try change(&options)
        return options
    }
}

extension HTTPProbeOptions: ProberOptions {}
extension ICMPProbeOptions: ProberOptions {}
extension DNSProbeOptions: ProberOptions {}
extension StreamProbeOptions: ProberOptions {}
extension GRPCProbeOptions: ProberOptions {}
extension WebSocketProbeOptions: ProberOptions {}

extension ProbeModule.Prober: CustomTestStringConvertible {
    /// Its name, without all its options.
    public var testDescription: String { self.name }
}

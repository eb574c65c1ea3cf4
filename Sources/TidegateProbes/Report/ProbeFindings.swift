internal import TidegateAttribution
internal import TidegateCore
internal import TidegateTransfer

/// What a probe finds while it runs.
struct ProbeFindings {
    private(set) var families: [GaugeFamily] = []
    private(set) var log: ProbeLog
    /// Why it failed; nil so far.
    private(set) var failure: ProbeReport.Failure?
    /// True if this host has no path to the target.
    private(set) var isGated = false
    /// True if what lies between this host and the internet was found to be down.
    private(set) var isOutage = false
    /// The address that is connected to; nil before one is known.
    var address: IPAddress?
    /// The port that a redirect led to; nil if none did.
    var redirectedPort: UInt16?
    /// True if a name gave no address, though the name may well exist.
    private(set) var isUnresolved = false
    /// The addresses of the last connection; nil if there was none.
    var connection: ProbeConnection?
    /// What it is called that a host which is there stays silent; nil for a port.
    var silence: String?

    private let time: any TimeSource

    init(log: ProbeLog, time: any TimeSource) {
        self.log = log
        self.time = time
    }

    // MARK: Metrics

    /// Adds metrics without labels, at 0 until they are set.
    mutating func declare(_ metrics: ProbeMetric...) {
        for metric in metrics { self.set(metric, 0) }
    }

    mutating func set(_ metric: ProbeMetric, _ value: Double, labels: [String] = []) {
        self.change(metric) { $0.set(value, labels: labels) }
    }

    mutating func add(_ metric: ProbeMetric, _ value: Double, labels: [String] = []) {
        self.change(metric) { $0.set(($0.value(labels: labels) ?? 0) + value, labels: labels) }
    }

    private mutating func change(_ metric: ProbeMetric, _ change: (inout GaugeFamily) -> Void) {
        if let position = self.families.firstIndex(where: { $0.name == metric.name }) {
            change(&self.families[position])
        } else {
            var family = GaugeFamily(name: metric.name, help: metric.help, labels: metric.labels)
            change(&family)
            self.families.append(family)
        }
    }

    // MARK: Failures

    /// Records why the probe fails; of several reasons the first one counts.
    mutating func fail(_ reason: ProbeFailureReason, _ party: FaultParty, _ text: String) {
        self.log.add(.error, text, at: self.time.wall())
        guard self.failure == nil else { return }
        self.failure = ProbeReport.Failure(reason: reason.label, party: party, text: text)
    }

    mutating func fail(_ problem: ProbeProblem) {
        self.isGated = self.isGated || problem.isGated
        self.isUnresolved = self.isUnresolved || problem.isUnresolved && self.failure == nil
        self.fail(problem.reason, problem.party, problem.text)
    }

    /// Records why the probe fails, and whose failure the evidence says that it is.
    mutating func fail(_ reason: ProbeFailureReason, _ evidence: FailureEvidence) {
        let attribution = DecisionTable.attribution(of: evidence)
        self.fail(
            reason, attribution?.party ?? .unknown,
            self.silence(attribution?.cause) ?? attribution?.evidence.first ?? "no answer, and nothing says why")
    }

    // What a host that is there leaves unanswered, if that is no port.
    private func silence(_ cause: Cause?) -> String? { cause == .server(.portSilent) ? self.silence : nil }

    /// Records that this host has no path to the target.
    mutating func gate(_ reason: UnreachableReason, _ text: String) { self.fail(.gated(reason, text)) }

    /// Records that the path was lost while the target was asked.
    mutating func losePath(_ reason: UnreachableReason, _ text: String) {
        self.failure = nil
        self.gate(reason, text)
    }

    /// Records whose failure it was, once that is known; the reason stays.
    mutating func explain(_ cause: Cause) {
        self.isOutage = cause.party.isWayOut || cause.party == .resolver
        self.failure?.party = cause.party
        let text = self.silence(cause) ?? cause.description
        self.failure?.text = text
        self.log.add(.error, text, [("party", cause.party.label)], at: self.time.wall())
    }

    mutating func note(_ message: String, _ fields: [(String, String)] = []) {
        self.log.add(.info, message, fields, at: self.time.wall())
    }
}

extension ProbeFindings {
    /// What blackbox_exporter shows of a chain that was not verified: the first moment of Go's time.Time.
    private static var neverVerified: Double { -62_135_596_800 }

    /// Records what a server showed in its handshake.
    mutating func record(_ chain: CertificateChain) {
        if let expiry = chain.earliestExpiry { self.set(.earliestExpiry, expiry.seconds) }
        self.set(.chainExpiry, chain.verifiedExpiry?.seconds ?? ProbeFindings.neverVerified)
        self.set(.tlsVersion, 1, labels: [chain.version.replacing("TLSv", with: "TLS ")])
        // swift-nio-ssl does not say.
        if !chain.cipher.isEmpty { self.set(.tlsCipher, 1, labels: [chain.cipher]) }
        self.set(
            .chainInfo, 1,
            labels: [
                chain.own.fingerprint, chain.own.subject, chain.own.issuer, chain.own.names.joined(separator: ","),
                chain.own.serialNumber,
            ])
    }

    /// The value of a metric without labels; 0 if it was not set.
    func value(of metric: ProbeMetric) -> Double {
        self.families.first { $0.name == metric.name }?.value() ?? 0
    }
}

/// Why a probe failed: the values of `probe_failure_info{reason}`.
enum ProbeFailureReason: String, MetricLabel {
    /// This host had no path to the target.
    case noPath
    /// The target is none.
    case invalidTarget
    /// The target must not be probed from here.
    case targetDenied
    /// A file of the module cannot be read.
    case fileError
    /// The name gave no address.
    case resolveFailed
    /// The server that gives tokens gave none.
    case authorizationFailed
    case connectFailed
    case tlsFailed
    /// No answer in time.
    case timedOut
    /// The connection was broken.
    case reset
    /// What came is not what the module expects.
    case response
    /// What came is not what the protocol says.
    case protocolError
    /// The body ended early.
    case truncated
    case tooLarge
    /// The body is not encoded as the module says.
    case encoding
    case status
    case version
    case header
    case body
    case tls
    case noTls
    /// A router on the way, or this host, reports that the target cannot be reached.
    case unreachable
    /// The packet passed more routers than it may.
    case ttlExceeded
    /// The packet is too long for a link, and must stay whole.
    case fragmentationNeeded
    /// A name server answered with another response code.
    case rcode
    /// The records of an answer are not as the module says.
    case records
    /// A service says that it does not serve.
    case notServing
    /// Other probes held the memory for bodies, or the body needs more than there is for all.
    case noMemory
    /// This process lacks a privilege.
    case notPermitted
    case `internal`

    /// The labels of those with which the target did not answer, or not to the end.
    static let silences = Set(
        [Self.noPath, .resolveFailed, .connectFailed, .timedOut, .reset, .truncated, .unreachable].map(\.label))
}

/// Why a probe ends before its end; recorded by who runs it.
struct ProbeProblem: Error {
    let reason: ProbeFailureReason
    var party = FaultParty.mine
    let text: String
    /// True if this host has no path to the target.
    var isGated = false
    /// True if a name gave no address, though it may well exist: whether that was the resolver's failure is asked later.
    var isUnresolved = false

    /// This host has no path to the target.
    static func gated(_ reason: UnreachableReason, _ text: String) -> Self {
        Self(reason: .noPath, party: reason.party, text: text, isGated: true)
    }

    /// Does something whose errors have this reason.
    static func catching<Value>(
        _ reason: ProbeFailureReason, _ party: FaultParty = .mine, _ body: () throws -> Value
    ) throws(Self) -> Value {
        do { return try body() } catch { throw Self(reason: reason, party: party, text: "\(error)") }
    }
}

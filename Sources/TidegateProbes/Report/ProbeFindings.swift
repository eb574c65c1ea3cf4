internal import TidegateAttribution
internal import TidegateCore
internal import TidegateTransfer

/// The results of a probe while it runs.
struct ProbeFindings {
    private(set) var families: [GaugeFamily] = []
    private(set) var log: ProbeLog
    /// Why the probe failed; nil if it has not.
    private(set) var failure: ProbeReport.Failure?
    /// True if this host has no path to the target.
    private(set) var isGated = false
    /// True if this host, or the network between it and the internet, was found to be down.
    private(set) var isOutage = false
    /// The address being connected to; nil before it is known.
    var address: IPAddress?
    /// The port of a redirect; nil without one.
    var redirectedPort: UInt16?
    /// True if a name could not be resolved although it may exist.
    private(set) var isUnresolved = false
    /// The addresses of the last connection; nil without one.
    var connection: ProbeConnection?
    /// How to describe the silence of a host that is up; nil for a silent port.
    var silence: String?

    let time: any TimeSource

    // MARK: Metrics

    /// Adds metrics without labels, with the value 0.
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

    /// Records why the probe failed; the first reason counts.
    ///
    /// A fault of this host says nothing about the target, unless the target answered or is a service of this host.
    mutating func fail(_ reason: ProbeFailureReason, _ party: FaultParty, _ text: String, cause: Cause? = nil) {
        self.log.add(.error, text, at: self.time.wall())
        guard self.failure == nil else { return }
        self.failure = ProbeReport.Failure(reason: reason.label, party: party, text: text)
        self.isOutage =
            party == .mine && !ProbeFailureReason.answers.contains(reason) && cause?.isOfLocalService != true
    }

    mutating func fail(_ problem: ProbeProblem) {
        self.isGated = self.isGated || problem.isGated
        self.isUnresolved = self.isUnresolved || problem.isUnresolved && self.failure == nil
        self.fail(problem.reason, problem.party, problem.text)
    }

    /// Records why the probe failed, with the party that follows from the evidence.
    mutating func fail(_ reason: ProbeFailureReason, _ evidence: FailureEvidence) {
        let attribution = DecisionTable.attribution(of: evidence)
        self.fail(
            evidence.socketError == .noResources ? .noDescriptor : reason, attribution?.party ?? .unknown,
            self.silence(attribution?.cause) ?? attribution?.evidence.first ?? "no answer, and nothing says why",
            cause: attribution?.cause)
    }

    // The silence of a host that is up, for a target without a port.
    private func silence(_ cause: Cause?) -> String? { cause == .server(.portSilent) ? self.silence : nil }

    /// Records that this host has no path to the target.
    mutating func gate(_ reason: UnreachableReason, _ text: String) { self.fail(.gated(reason, text)) }

    /// Records that the path was lost during the probe.
    mutating func losePath(_ reason: UnreachableReason, _ text: String) {
        self.failure = nil
        self.gate(reason, text)
    }

    /// Records the responsible party once it is known; the reason stays.
    mutating func explain(_ cause: Cause) {
        self.isOutage = cause.party.isThisSide && !cause.isOfLocalService
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
    /// The value that blackbox_exporter shows for an unverified chain: the zero value of Go's time.Time.
    private static var neverVerified: Double { -62_135_596_800 }

    /// Records the certificate chain from the server's handshake.
    mutating func record(_ chain: CertificateChain) {
        if let expiry = chain.earliestExpiry { self.set(.earliestExpiry, expiry.seconds) }
        self.set(.chainExpiry, chain.verifiedExpiry?.seconds ?? ProbeFindings.neverVerified)
        self.set(.tlsVersion, 1, labels: [chain.version.replacing("TLSv", with: "TLS ")])
        // swift-nio-ssl does not report the cipher.
        if !chain.cipher.isEmpty { self.set(.tlsCipher, 1, labels: [chain.cipher]) }
        self.set(
            .chainInfo, 1,
            labels: [
                chain.own.fingerprint, chain.own.subject, chain.own.issuer, chain.own.names.joined(separator: ","),
                chain.own.serialNumber,
            ])
    }

    /// The value of a metric without labels; 0 if it is not set.
    func value(of metric: ProbeMetric) -> Double {
        self.families.first { $0.name == metric.name }?.value() ?? 0
    }
}

/// Why a probe failed: the values of the label `reason` of `probe_failure_info`.
enum ProbeFailureReason: String, MetricLabel {
    /// This host had no path to the target.
    case noPath
    /// The target is invalid.
    case invalidTarget
    /// The policy denies the target.
    case targetDenied
    /// A file of the module cannot be read.
    case fileError
    /// The name has no address.
    case resolveFailed
    /// The token server returned no token.
    case authorizationFailed
    case connectFailed
    case tlsFailed
    /// There was no answer in time.
    case timedOut
    /// The connection was broken.
    case reset
    /// The response does not match the module's expectations.
    case response
    /// The response violates the protocol.
    case protocolError
    /// The body ended early.
    case truncated
    case tooLarge
    /// The body does not have the encoding that the module requires.
    case encoding
    case status
    case version
    case header
    case body
    case tls
    case noTls
    /// A router on the way, or this host, reports that the target cannot be reached.
    case unreachable
    /// The packet exceeded its hop limit.
    case ttlExceeded
    /// The packet is too large for a link and must not be fragmented.
    case fragmentationNeeded
    /// A name server returned another response code.
    case rcode
    /// The records of a response do not match the module's conditions.
    case records
    /// A service reports that it is not serving.
    case notServing
    /// Other probes hold the memory for bodies, or the body needs more than the whole budget.
    case noMemory
    /// This process has no descriptor left for a socket.
    case noDescriptor
    /// This process lacks a privilege.
    case notPermitted
    case `internal`

    /// Reasons that are about an answer: of the target, or of its name.
    static let answers: Set = [
        Self.resolveFailed, .authorizationFailed, .response, .protocolError, .tooLarge, .encoding, .status, .version,
        .header, .body, .tls, .noTls, .rcode, .records, .notServing,
    ]

    /// The labels of reasons for which the target did not answer, or not completely.
    static let silences = Set(
        [Self.noPath, .resolveFailed, .connectFailed, .timedOut, .reset, .truncated, .unreachable].map(\.label))
}

extension Cause {
    /// True if the target is a service of this host that does not run.
    fileprivate var isOfLocalService: Bool { if case .thisHost(.nothingListens) = self { true } else { false } }
}

/// Why a probe ended early; recorded by the runner.
struct ProbeProblem: Error {
    let reason: ProbeFailureReason
    var party = FaultParty.mine
    let text: String
    /// True if this host has no path to the target.
    var isGated = false
    /// True if a name could not be resolved although it may exist; a diagnosis decides later whether the resolver
    /// failed.
    var isUnresolved = false

    /// This host has no path to the target.
    static func gated(_ reason: UnreachableReason, _ text: String) -> Self {
        Self(reason: .noPath, party: reason.party, text: text, isGated: true)
    }

    /// Runs `body`, and gives its errors this reason.
    static func catching<Value>(
        _ reason: ProbeFailureReason, _ party: FaultParty = .mine, _ body: () throws -> Value
    ) throws(Self) -> Value {
        do { return try body() } catch { throw Self(reason: reason, party: party, text: "\(error)") }
    }
}

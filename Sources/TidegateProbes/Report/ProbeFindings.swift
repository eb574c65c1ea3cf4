internal import TidegateCore

/// What a probe finds while it runs.
struct ProbeFindings {
    private(set) var families: [GaugeFamily] = []
    private(set) var log: ProbeLog
    /// Why it failed; nil so far.
    private(set) var failure: ProbeReport.Failure?
    /// True if this host has no path to the target.
    private(set) var isGated = false

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

    /// Records that this host has no path to the target.
    mutating func gate(_ reason: UnreachableReason, _ text: String) {
        self.isGated = true
        self.fail(.noPath, reason.party, text)
    }

    /// Records whose failure it was, once that is known; the reason stays.
    mutating func explain(_ cause: Cause) {
        self.failure?.party = cause.party
        self.failure?.text = cause.description
        self.log.add(.error, cause.description, [("party", cause.party.label)], at: self.time.wall())
    }

    mutating func note(_ message: String, _ fields: [(String, String)] = []) {
        self.log.add(.info, message, fields, at: self.time.wall())
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
    /// Somebody on the way, or this host, says that the target cannot be reached.
    case unreachable
    /// The packet passed more routers than it may.
    case ttlExceeded
    /// The packet is too long for a link, and must stay whole.
    case fragmentationNeeded
    /// A name server answered with another response code.
    case rcode
    /// The records of an answer are not as the module says.
    case records
    /// This process lacks a privilege.
    case notPermitted
    case `internal`
}

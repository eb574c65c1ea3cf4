internal import Synchronization
internal import TidegateCore

/// Records attempts: their results, durations, bytes and retries.
struct AttemptRecorder: Sendable {
    private let series: AttemptTable
    private let hosts: HostMetrics
    private let phases: FixedLabelFamily<PhaseDurations.Phase, Histogram>
    private let retries: RetryMetrics
    private let bodies: BodyMetrics
    private let connectionsOpened: Counter
    private let connectionReuses: Counter
    private let epochs: Counter

    init(_ registry: Registry, hosts: HostMetrics) {
        self.hosts = hosts
        self.series = AttemptTable(registry, hosts: hosts.table)
        self.phases = registry.adding(FixedLabelFamily(Catalogue.requestPhaseDuration))
        self.retries = RetryMetrics(registry)
        hosts.register(in: registry)
        self.bodies = BodyMetrics(registry)
        registry.collect(Catalogue.connections, by: ConnectionState.allCases) {
            $1 == .active ? $0.session.activeConnections : $0.session.idleConnections
        }
        self.connectionsOpened = registry.adding(Catalogue.connectionsOpened)
        self.connectionReuses = registry.adding(Catalogue.connectionReuses)
        self.epochs = registry.adding(Catalogue.networkEpochs)
    }

    func ended(_ summary: AttemptSummary, of task: Exemplar.Source, isSuccess: Bool) {
        var source = task
        source.attempt = summary.number
        let host = self.hosts.table.isOn ? self.hosts.value(of: summary.host) : nil
        let series = self.series[
            AttemptKey(
                method: RequestMethod(summary.method), status: summary.status, isSent: summary.isSent, host: host)]
        series.attempts.add(from: source)
        series.durations.observe(summary.duration, from: source)
        for phase in PhaseDurations.Phase.allCases {
            if let duration = summary.phases[phase] { self.phases[phase].observe(duration) }
        }
        let opened = summary.connectionsOpened
        if opened > 0 { self.connectionsOpened.add(opened) } else if summary.usedTheWire { self.connectionReuses.add() }
        if opened > 0, let host { self.hosts.showed(summary.tls, by: host) }
        if isSuccess, summary.sent > 0 { self.bodies.requestSize.observe(Double(summary.sent)) }
    }

    func progressed(_ delta: TaskEvent.ByteCounts, kind: TaskKind) {
        if delta.received > 0 { self.bodies.received[kind].add(delta.received) }
        if delta.sent > 0 { self.bodies.sent[kind].add(delta.sent) }
    }

    func retried(_ reason: TaskEvent.RetryReason, delay: Duration) {
        self.retries.retries[TextLabels(reason.label)].add()
        self.retries.backoff.observe(delay)
    }

    func exhausted(_ reason: TaskEvent.ExhaustionReason) { self.retries.exhausted[reason].add() }

    func restarted() { self.bodies.restarts.add() }

    func refetched(_ bytes: Int64) { self.bodies.refetched.add(bytes) }

    func completed(_ result: TaskResult) {
        guard result.outcome == .success else { return }
        self.bodies.responseSize.observe(Double(result.bytes))
        if result.attempts > 1 { self.retries.successes.add() }
    }

    func poolReplaced() { self.epochs.add() }
}

/// The metrics by host, if hosts are labelled.
final class HostMetrics: Sendable {
    let table: HostTable
    private let overflows: TableFamily<TextLabels, Counter>
    private let certificates = Mutex<[String: WallTime]>([:])

    init(_ mode: HostLabel, overflows: TableFamily<TextLabels, Counter>) {
        self.table = HostTable(mode)
        self.overflows = overflows
        // From the start: for Prometheus a series that starts at 1 has not increased.
        if case .top = mode { for metric in HostMetrics.bounded { _ = overflows[metric] } }
    }

    func register(in registry: Registry) {
        guard self.table.isOn else { return }
        let table = self.table
        registry.collect(Catalogue.requestCertificateExpiry) { [weak self] _, samples in
            let certificates = self?.certificates.withLock { $0 } ?? [:]
            for (host, expiry) in certificates.sorted(by: { $0.key < $1.key }) {
                samples.add(host, value: expiry.seconds)
            }
        }
        registry.collect(Catalogue.retryBudgetTokens) { inputs, samples in
            // The least of those that share a value.
            let tokens = inputs.session.retryTokens.map { (table.known($0.key), $0.value) }
            let least = Dictionary(tokens, uniquingKeysWith: min)
            for (host, tokens) in least.sorted(by: { $0.key < $1.key }) { samples.add(host, value: tokens) }
        }
    }

    /// A new connection showed a certificate; its number of hosts is that of the label's values.
    func showed(_ tls: TLSDetails?, by host: String) {
        guard let expiry = tls?.chain.first?.expiry else { return }
        self.certificates.withLock { certificates in
            let before = host == HostTable.other ? certificates[host] : nil
            certificates[host] = min(expiry, before ?? expiry)
        }
    }

    /// The label's value; nil if there is no label.
    func value(of host: String?) -> String? {
        guard let value = self.table.value(of: host) else { return nil }
        if value.isOverflow { for metric in HostMetrics.bounded { self.overflows[metric].add() } }
        return value.text
    }

    private static let bounded = [Catalogue.requestAttempts, Catalogue.requestDuration].map {
        TextLabels($0.name, "host")
    }
}

/// The metrics of retries.
struct RetryMetrics: Sendable {
    let retries: TableFamily<TextLabels, Counter>
    let successes: Counter
    let exhausted: TableFamily<TaskEvent.ExhaustionReason, Counter>
    let backoff: Histogram

    init(_ registry: Registry) {
        let reasons =
            TaskFailure.allCases.map { TaskEvent.RetryReason.failure($0) }
            + [408, 425, 429, 500].map { TaskEvent.RetryReason.status($0) }
        self.retries = registry.adding(TableFamily(Catalogue.taskRetries, from: reasons.map { TextLabels($0.label) }))
        self.successes = registry.adding(Catalogue.taskRetrySuccesses)
        self.exhausted = registry.adding(
            TableFamily(Catalogue.taskRetriesExhausted, from: TaskEvent.ExhaustionReason.allCases))
        self.backoff = registry.adding(Catalogue.taskRetryBackoff)
    }
}

/// The metrics of bodies.
struct BodyMetrics: Sendable {
    let sent: FixedLabelFamily<TaskKind, Counter>
    let received: FixedLabelFamily<TaskKind, Counter>
    let requestSize: Histogram
    let responseSize: Histogram
    let refetched: Counter
    let restarts: Counter

    init(_ registry: Registry) {
        self.sent = registry.adding(FixedLabelFamily(Catalogue.sentBytes))
        self.received = registry.adding(FixedLabelFamily(Catalogue.receivedBytes))
        self.requestSize = registry.adding(Catalogue.requestBodySize)
        self.responseSize = registry.adding(Catalogue.responseBodySize)
        let kinds = TaskKind.allCases
        registry.collect(Catalogue.inflightExpectedBytes, by: kinds) { $0.session.expectedBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightTransferredBytes, by: kinds) { $0.session.transferredBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightExpectedSentBytes, by: kinds) { $0.session.expectedSentBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightSentBytes, by: kinds) { $0.session.sentBytes[$1] ?? 0 }
        self.refetched = registry.adding(Catalogue.refetchedBytes)
        self.restarts = registry.adding(Catalogue.resumeRestarts)
    }
}

extension AttemptSummary {
    // A refused connection is neither opened nor reused.
    fileprivate var usedTheWire: Bool { self.status != nil || self.receivedWire > 0 || self.sent > 0 }
}

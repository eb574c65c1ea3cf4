internal import Synchronization
internal import TidegateCore

/// The metrics of attempts: their results, durations, bytes and retries.
struct AttemptRecorder: ~Copyable, Sendable {
    /// The series that an attempt updates.
    private typealias Series = (attempts: Counter, durations: Histogram)

    private let hosts: HostMetrics
    private let attempts: TableFamily<AttemptKey, Counter>
    private let durations: TableFamily<TextLabels, Histogram>
    // One lookup finds all series of an attempt.
    private let series = Mutex(LastHitCache<AttemptKey, Series>())
    private let phases = FixedLabelFamily<PhaseDurations.Phase, Histogram>(Catalogue.requestPhaseDuration)
    private let retries = TableFamily<TextLabels, Counter>(Catalogue.taskRetries, from: AttemptRecorder.retryReasons)
    private let retrySuccesses = SingleFamily<Counter>(Catalogue.taskRetrySuccesses)
    let retriesExhausted = TableFamily<TaskEvent.ExhaustionReason, Counter>(
        Catalogue.taskRetriesExhausted, from: TaskEvent.ExhaustionReason.allCases)
    private let backoff = SingleFamily<Histogram>(Catalogue.taskRetryBackoff)
    private let sent = FixedLabelFamily<TaskKind, Counter>(Catalogue.sentBytes)
    private let received = FixedLabelFamily<TaskKind, Counter>(Catalogue.receivedBytes)
    private let requestSize = SingleFamily<Histogram>(Catalogue.requestBodySize)
    private let responseSize = SingleFamily<Histogram>(Catalogue.responseBodySize)
    let refetched = SingleFamily<Counter>(Catalogue.refetchedBytes)
    let restarts = SingleFamily<Counter>(Catalogue.resumeRestarts)
    private let connectionsOpened = SingleFamily<Counter>(Catalogue.connectionsOpened)
    private let connectionReuses = SingleFamily<Counter>(Catalogue.connectionReuses)
    let epochs = SingleFamily<Counter>(Catalogue.networkEpochs)

    private static let retryReasons =
        (TaskFailure.allCases.map { TaskEvent.RetryReason.failure($0) }
        + [408, 425, 429, 500].map { TaskEvent.RetryReason.status($0) }).map { TextLabels($0.label) }

    init(_ registry: Registry, hosts: HostMetrics) {
        self.hosts = hosts
        self.attempts = TableFamily(hosts.table.labelled(Catalogue.requestAttempts))
        self.durations = TableFamily(hosts.table.labelled(Catalogue.requestDuration))
        registry.add(
            self.attempts, self.durations, self.phases, self.retries, self.retrySuccesses, self.retriesExhausted,
            self.backoff)
        hosts.register(in: registry)
        registry.add(self.sent, self.received, self.requestSize, self.responseSize)
        let kinds = TaskKind.allCases
        registry.collect(Catalogue.inflightExpectedBytes, by: kinds) { $0.session.expectedBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightTransferredBytes, by: kinds) { $0.session.transferredBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightExpectedSentBytes, by: kinds) { $0.session.expectedSentBytes[$1] ?? 0 }
        registry.collect(Catalogue.inflightSentBytes, by: kinds) { $0.session.sentBytes[$1] ?? 0 }
        registry.add(self.refetched, self.restarts)
        registry.collect(Catalogue.connections) { inputs, samples in
            samples.add("active", value: inputs.session.activeConnections)
            samples.add("idle", value: inputs.session.idleConnections)
        }
        registry.add(self.connectionsOpened, self.connectionReuses, self.epochs)
    }

    func ended(_ summary: AttemptSummary, of task: Exemplar.Source, isSuccess: Bool) {
        var source = task
        source.attempt = summary.number
        let host = self.hosts.table.isOn ? self.hosts.value(of: summary.host) : nil
        let series = self.series(
            of: AttemptKey(
                method: RequestMethod(summary.method), status: summary.status, isSent: summary.isSent, host: host))
        series.attempts.add(from: source)
        series.durations.observe(summary.duration, from: source)
        let phases = summary.phases
        self.phases.forEach { phase, histogram in if let duration = phases[phase] { histogram.observe(duration) } }
        let opened = summary.connectionsOpened
        if opened > 0 {
            self.connectionsOpened.series.add(opened)
        } else if summary.status != nil || summary.receivedWire > 0 || summary.sent > 0 {
            // A refused connection counts neither as opened nor as reused.
            self.connectionReuses.series.add()
        }
        if opened > 0, let host { self.hosts.showed(summary.tls, by: host) }
        if isSuccess, summary.sent > 0 { self.requestSize.series.observe(Double(summary.sent)) }
    }

    private func series(of key: AttemptKey) -> Series {
        self.series.withLock { table in
            if let series = table.find(key) { return series }
            let labels = [key.method.label, CodeClass(status: key.status).label] + (key.host.map { [$0] } ?? [])
            let durations = self.durations[TextLabels(values: labels)]
            let series = (attempts: self.attempts[key], durations: durations)
            table.insert(series, for: key)
            return series
        }
    }

    func progressed(_ delta: TaskEvent.ByteCounts, kind: TaskKind) {
        if delta.received > 0 { self.received[kind].add(delta.received) }
        if delta.sent > 0 { self.sent[kind].add(delta.sent) }
    }

    func retried(_ reason: TaskEvent.RetryReason, delay: Duration) {
        self.retries[TextLabels(reason.label)].add()
        self.backoff.series.observe(delay)
    }

    func completed(_ result: TaskResult) {
        guard result.outcome == .success else { return }
        self.responseSize.series.observe(Double(result.bytes))
        if result.attempts > 1 { self.retrySuccesses.series.add() }
    }
}

/// The metrics by host, if hosts are labelled.
final class HostMetrics: Sendable {
    let table: HostTable
    private let overflows: TableFamily<TextLabels, Counter>
    private let certificates = Mutex<[String: WallTime]>([:])

    init(_ mode: HostLabel, overflows: TableFamily<TextLabels, Counter>) {
        self.table = HostTable(mode)
        self.overflows = overflows
        // Exist from the start: Prometheus sees no increase in a series that starts at 1.
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
            // The minimum of hosts that share a value.
            let tokens = inputs.session.retryTokens.map { (table.known($0.key), $0.value) }
            let least = Dictionary(tokens, uniquingKeysWith: min)
            for (host, tokens) in least.sorted(by: { $0.key < $1.key }) { samples.add(host, value: tokens) }
        }
    }

    /// Records the certificate shown on a new connection; the label bounds the number of hosts.
    func showed(_ tls: TLSDetails?, by host: String) {
        guard let expiry = tls?.chain.first?.expiry else { return }
        self.certificates.withLock { certificates in
            let before = host == HostTable.other ? certificates[host] : nil
            certificates[host] = min(expiry, before ?? expiry)
        }
    }

    /// The label's value; nil without a label.
    func value(of host: String?) -> String? {
        guard let value = self.table.value(of: host) else { return nil }
        if value.isOverflow { for metric in HostMetrics.bounded { self.overflows[metric].add() } }
        return value.text
    }

    private static let bounded = [Catalogue.requestAttempts, Catalogue.requestDuration].map {
        TextLabels($0.name, "host")
    }
}

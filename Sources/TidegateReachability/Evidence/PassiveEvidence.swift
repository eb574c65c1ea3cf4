internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore

/// What recent successful requests prove about their paths, as long as none has failed in silence since.
///
/// It receives every event of a busy bus, so it only updates a record in place under a short lock.
final class PassiveEvidence: EventSink {
    /// The latest successes from one source address.
    private struct SuccessRecord {
        /// The source address of the requests, which identifies the path.
        var source: IPAddress
        /// When a response came, which proves the gateway.
        var answeredAt: MonotonicTime
        /// The remote address of that response.
        var remote: IPAddress
        /// When a server on the internet proved its identity by TLS; nil if none did.
        var internetAt: MonotonicTime?
    }

    /// A connection that took as long as the kernel takes to send its first packet again.
    private struct LateConnect {
        var source: IPAddress
        var remote: IPAddress
        /// When its request began.
        var start: MonotonicTime
    }

    private static let capacity = 8

    private let records = Mutex<[SuccessRecord]>([])
    private let lateConnects = Mutex<[LateConnect]>([])
    private let silenceHandler = Mutex<(@Sendable (MonotonicTime) -> Void)?>(nil)

    /// Sets the handler for a check of this program that has had no answer for a while; it receives the time of the
    /// first packet.
    func onSilence(_ handler: @escaping @Sendable (MonotonicTime) -> Void) {
        self.silenceHandler.withLock { $0 = handler }
    }

    /// Reports that a packet sent at `moment` has had no answer for ``Thresholds/certainty``.
    func suspect(since moment: MonotonicTime) { self.silenceHandler.withLock { $0 }?(moment) }

    func receive(_ event: Event) {
        if case .probe(let probe) = event.payload {
            guard case .finished(let outcome) = probe.kind else { return }
            if outcome.result == .success, let connection = outcome.connection {
                let source = connection.local.withoutZone
                self.noteIfLate(connection.connect, source, connection.remote, from: event.moment - outcome.duration)
                return self.record(source, connection.remote, isEncrypted: connection.isEncrypted, at: event.moment)
            }
            // A permanent failure is not news.
            return probe.isSilence && (outcome.isNews || outcome.result == .inconclusive)
                ? self.doubt(outcome.family) : ()
        }
        guard case .task(let task) = event.payload else { return }
        if case .attemptFailed(let summary, _, let attribution?, isCharged: _) = task.kind, attribution.silence != nil {
            return self.doubt(summary.remote?.family)
        }
        guard case .attemptSucceeded(let summary) = task.kind, let source = summary.local?.withoutZone,
            let remote = summary.remote
        else { return }
        self.noteIfLate(summary.phases.connect, source, remote, from: event.moment - summary.duration)
        self.record(source, remote, isEncrypted: summary.phases.tls != nil, at: event.moment)
    }

    private func noteIfLate(_ connect: Duration?, _ source: IPAddress, _ remote: IPAddress, from start: MonotonicTime) {
        guard connect ?? .zero >= Thresholds.repeatedPacket else { return }
        self.lateConnects.withLock { connects in
            connects.removeAll { $0.source == source && $0.remote == remote }
            if connects.count == PassiveEvidence.capacity { connects.removeFirst() }
            connects.append(LateConnect(source: source, remote: remote, start: start))
        }
    }

    private func record(_ source: IPAddress, _ remote: IPAddress, isEncrypted: Bool, at now: MonotonicTime) {
        let isInternet = isEncrypted && remote.isGlobal
        self.records.withLock { records in
            guard let position = records.firstIndex(where: { $0.source == source }) else {
                // A new address replaces the one with the oldest success.
                let isFull = records.count == PassiveEvidence.capacity
                let oldest = isFull ? records.indices.min { records[$0].answeredAt < records[$1].answeredAt } : nil
                if let oldest { records.remove(at: oldest) }
                let internetAt = isInternet ? now : nil
                return records.append(
                    SuccessRecord(source: source, answeredAt: now, remote: remote, internetAt: internetAt))
            }
            records[position].answeredAt = now
            records[position].remote = remote
            if isInternet { records[position].internetAt = now }
        }
    }

    // A success from before a silence may no longer be valid.
    private func doubt(_ family: AddressFamily?) {
        self.records.withLock { $0.removeAll { family == nil || $0.source.family == family } }
    }

    /// When the latest request from `source` with a late connection began.
    ///
    /// Nil unless two remotes had one within half a minute: a single server may only be slow to accept.
    func lastLateConnect(from source: IPAddress?, at now: MonotonicTime) -> MonotonicTime? {
        let connects = self.lateConnects.withLock { connects in
            connects.filter { $0.source == source?.withoutZone && now - $0.start <= Thresholds.sampleAge }
        }
        return connects.count > 1 ? connects.map(\.start).max() : nil
    }

    /// The successes from `source` within the last 30 seconds; nil if there are none.
    func fresh(from source: IPAddress?, at now: MonotonicTime) -> PassiveFindings? {
        guard let source = source?.withoutZone,
            let record = self.records.withLock({ records in records.first { $0.source == source } }),
            now - record.answeredAt <= Thresholds.evidenceAge
        else { return nil }
        let internet = record.internetAt.map { now - $0 }
        return PassiveFindings(
            answered: now - record.answeredAt, remote: record.remote,
            internet: internet.flatMap { $0 <= Thresholds.evidenceAge ? $0 : nil })
    }
}

/// Calls a handler when attempts fail, at most once a second.
final class FailedAttemptObserver: EventSink {
    private static let interval: UInt64 = 1_000_000_000

    private let calledAt = Atomic<UInt64>(0)
    private let handler: @Sendable () -> Void

    init(handler: @escaping @Sendable () -> Void) { self.handler = handler }

    func receive(_ event: Event) {
        switch event.payload {
        case .task(let task): guard case .attemptFailed = task.kind else { return }
        case .probe(let probe): guard probe.isSilence else { return }
        default: return
        }
        let now = event.moment.nanoseconds
        let before = self.calledAt.load(ordering: .relaxed)
        guard now >= before &+ FailedAttemptObserver.interval,
            self.calledAt.compareExchange(expected: before, desired: now, ordering: .relaxed).exchanged
        else { return }
        self.handler()
    }
}

extension ProbeEvent {
    // The target did not answer, and may not be responsible.
    fileprivate var isSilence: Bool {
        guard case .finished(let outcome) = self.kind, let failure = outcome.failure, !outcome.isGated else {
            return false
        }
        return failure.reason == "timed_out" && failure.party != .theirs
    }
}

/// The proof from requests that succeeded within the last 30 seconds.
struct PassiveFindings: Sendable, Hashable {
    /// How long ago a response came.
    var answered: Duration
    var remote: IPAddress
    /// How long ago a server on the internet proved its identity by TLS; nil if none did.
    var internet: Duration?
}

internal import Synchronization
internal import TidegateCore

/// What requests that succeeded lately say about the ways they took.
///
/// It hears every event of a busy bus: it writes a few words in place under a small lock, and nothing else.
final class PassiveEvidence: EventSink {
    /// What went well from one source address, and when it last did.
    struct Trace: Sendable, Hashable {
        /// The address that requests came from; by it the path is known again.
        var source: IPAddress
        /// An answer came, so that the gateway works.
        var answeredAt: MonotonicTime
        /// Who answered then.
        var remote: IPAddress
        /// A name was resolved on the way.
        var resolvedAt: MonotonicTime?
        /// A server out in the world proved by TLS who it is.
        var internetAt: MonotonicTime?
    }

    /// For how long a success counts.
    static let lifetime = Duration.seconds(30)
    private static let room = 8

    private let traces = Mutex<[Trace]>([])

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload, case .attemptSucceeded(let summary) = task.kind,
            let source = summary.local?.withoutZone, let remote = summary.remote
        else { return }
        let isResolved = summary.phases.resolve != nil
        let isInternet = summary.phases.tls != nil && remote.isGlobal
        let now = event.moment
        self.traces.withLock { traces in
            let position = PassiveEvidence.place(of: source, in: &traces, remote, now)
            traces[position].answeredAt = now
            traces[position].remote = remote
            if isResolved { traces[position].resolvedAt = now }
            if isInternet { traces[position].internetAt = now }
        }
    }

    // The address that was quiet for longest makes room for a new one.
    private static func place(
        of source: IPAddress, in traces: inout [Trace], _ remote: IPAddress, _ now: MonotonicTime
    ) -> Int {
        var oldest = 0
        for position in traces.indices {
            if traces[position].source == source { return position }
            if traces[position].answeredAt < traces[oldest].answeredAt { oldest = position }
        }
        let fresh = Trace(source: source, answeredAt: now, remote: remote)
        guard traces.count == self.room else {
            traces.append(fresh)
            return traces.count - 1
        }
        traces[oldest] = fresh
        return oldest
    }

    /// What succeeded from `source` within the last half minute; nil where nothing did.
    func fresh(from source: IPAddress?, at now: MonotonicTime) -> Trace? {
        guard let source = source?.withoutZone else { return nil }
        let found = self.traces.withLock { traces in traces.first { $0.source == source } }
        guard var trace = found, now - trace.answeredAt <= PassiveEvidence.lifetime else { return nil }
        if let moment = trace.resolvedAt, now - moment > PassiveEvidence.lifetime { trace.resolvedAt = nil }
        if let moment = trace.internetAt, now - moment > PassiveEvidence.lifetime { trace.internetAt = nil }
        return trace
    }
}

extension PassiveFindings {
    /// A trace, by how long ago things were.
    init(_ trace: PassiveEvidence.Trace, at now: MonotonicTime) {
        self.init(
            answered: now - trace.answeredAt, remote: trace.remote, resolved: trace.resolvedAt.map { now - $0 },
            internet: trace.internetAt.map { now - $0 })
    }
}

/// Hears of failed attempts, and says so at most once a second.
final class TroubleSink: EventSink {
    private static let interval: UInt64 = 1_000_000_000

    private let toldAt = Atomic<UInt64>(0)
    private let tell: @Sendable () -> Void

    init(tell: @escaping @Sendable () -> Void) { self.tell = tell }

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload, case .attemptFailed = task.kind else { return }
        let now = event.moment.nanoseconds
        let before = self.toldAt.load(ordering: .relaxed)
        guard now >= before &+ TroubleSink.interval,
            self.toldAt.compareExchange(expected: before, desired: now, ordering: .relaxed).exchanged
        else { return }
        self.tell()
    }
}

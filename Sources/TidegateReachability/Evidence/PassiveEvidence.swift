internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore

/// What recent successful requests prove about their paths, as long as none has failed in silence since.
///
/// Each request of a busy program comes here, so it only updates a record in place under a short lock.
final class PassiveEvidence: Sendable {
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

    private struct State {
        var records: [SuccessRecord] = []
        /// When a failure was last passed on.
        var failedAt: MonotonicTime?
    }

    private static let capacity = 8

    private let state = Mutex(State())

    /// Records a success.
    func record(_ request: TrafficEvidence.Request) {
        self.state.withLock { PassiveEvidence.add(request, to: &$0.records) }
    }

    private static func add(_ request: TrafficEvidence.Request, to records: inout [SuccessRecord]) {
        let now = request.end
        let isInternet = request.isEncrypted && request.remote.isGlobal
        guard let position = records.firstIndex(where: { $0.source == request.source }) else {
            // A new address replaces the one with the oldest success.
            let isFull = records.count == PassiveEvidence.capacity
            let oldest = isFull ? records.indices.min { records[$0].answeredAt < records[$1].answeredAt } : nil
            if let oldest { records.remove(at: oldest) }
            let internetAt = isInternet ? now : nil
            return records.append(
                SuccessRecord(
                    source: request.source, answeredAt: now, remote: request.remote, internetAt: internetAt))
        }
        records[position].answeredAt = now
        records[position].remote = request.remote
        if isInternet { records[position].internetAt = now }
    }

    /// Whether no failure came in the last second: a server that always fails must not keep another thread busy.
    func isNewFailure(at now: MonotonicTime) -> Bool {
        self.state.withLock { state in
            if let before = state.failedAt, now < before + .seconds(1) { return false }
            state.failedAt = now
            return true
        }
    }

    /// Forgets successes from before a silence, which may no longer be valid; over each family if it is nil.
    func doubt(_ family: AddressFamily?) {
        self.state.withLock { $0.records.removeAll { family == nil || $0.source.family == family } }
    }

    /// The successes from `source` within the last 30 seconds; nil if there are none.
    func fresh(from source: IPAddress?, at now: MonotonicTime) -> PassiveFindings? {
        guard let source = source?.withoutZone,
            let record = self.state.withLock({ state in state.records.first { $0.source == source } }),
            now - record.answeredAt <= Thresholds.evidenceAge
        else { return nil }
        let internet = record.internetAt.map { now - $0 }
        return PassiveFindings(
            answered: now - record.answeredAt, remote: record.remote,
            internet: internet.flatMap { $0 <= Thresholds.evidenceAge ? $0 : nil })
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

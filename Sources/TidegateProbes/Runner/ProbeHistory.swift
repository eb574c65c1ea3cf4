internal import Synchronization
internal import TidegateCore

/// The latest probes; failures stay longer, because they are what people look for.
final class ProbeHistory: Sendable {
    private struct State {
        var latest: [ProbeReport] = []
        /// Failures that were pushed out of ``latest``.
        var failures: [ProbeReport] = []
        var lastNumber: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// An empty history of `limit` probes, and as many failures before them.
    init(limit: Int) { self.limit = max(0, limit) }

    /// Adds a report; gives it its number.
    func add(_ report: ProbeReport) -> ProbeReport {
        self.state.withLock { state in
            var report = report
            state.lastNumber += 1
            report.number = state.lastNumber
            state.latest.append(report)
            if state.latest.count > self.limit {
                let oldest = state.latest.removeFirst()
                if oldest.failure != nil { state.failures.append(oldest) }
                if state.failures.count > self.limit { state.failures.removeFirst() }
            }
            return report
        }
    }

    /// The newest first.
    var reports: [ProbeReport] { self.state.withLock { ($0.failures + $0.latest).reversed() } }
}

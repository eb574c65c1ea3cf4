internal import Synchronization

/// The series that an attempt moves.
struct AttemptSeries {
    let attempts: Counter
    let durations: Histogram
}

/// Finds the series of attempts, all of one attempt in one look-up.
final class AttemptTable: Sendable {
    private let attempts: TableFamily<AttemptKey, Counter>
    private let durations: TableFamily<AttemptClassKey, Histogram>
    private let series = Mutex(LastHitCache<AttemptKey, AttemptSeries>())

    init(_ registry: Registry, hosts: HostTable) {
        self.attempts = registry.adding(TableFamily(hosts.labelled(Catalogue.requestAttempts)))
        self.durations = registry.adding(TableFamily(hosts.labelled(Catalogue.requestDuration)))
    }

    subscript(key: AttemptKey) -> AttemptSeries {
        self.series.withLock { table in
            if let series = table.find(key) { return series }
            let series = self.makeSeries(key)
            table.insert(series, for: key)
            return series
        }
    }

    private func makeSeries(_ key: AttemptKey) -> AttemptSeries {
        let codes = CodeClass(status: key.status)
        return AttemptSeries(
            attempts: self.attempts[key],
            durations: self.durations[AttemptClassKey(method: key.method, codes: codes, host: key.host)])
    }
}

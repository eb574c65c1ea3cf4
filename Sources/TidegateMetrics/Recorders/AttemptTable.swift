internal import Synchronization

/// The series that an attempt moves.
final class AttemptSeries: Sendable {
    let attempts: Counter
    let durations: Histogram

    init(attempts: Counter, durations: Histogram) {
        self.attempts = attempts
        self.durations = durations
    }
}

/// Finds the series of attempts, all of one attempt by one look.
final class AttemptTable: Sendable {
    private let attempts: TableFamily<AttemptKey, Counter>
    private let durations: TableFamily<AttemptClassKey, Histogram>
    private let state = Mutex(State())

    private struct State {
        var byKey: [AttemptKey: AttemptSeries] = [:]
        // Mostly the next attempt is like the last one: that costs no hash.
        var latest: (key: AttemptKey, series: AttemptSeries)?
    }

    init(_ registry: Registry, hosts: HostTable) {
        self.attempts = registry.adding(TableFamily(hosts.labelled(Catalogue.requestAttempts)))
        self.durations = registry.adding(TableFamily(hosts.labelled(Catalogue.requestDuration)))
    }

    subscript(key: AttemptKey) -> AttemptSeries {
        self.state.withLock { state in
            if let latest = state.latest, latest.key == key { return latest.series }
            let series = state.byKey[key] ?? self.makeSeries(key, &state)
            state.latest = (key, series)
            return series
        }
    }

    private func makeSeries(_ key: AttemptKey, _ state: inout State) -> AttemptSeries {
        let codes = CodeClass(status: key.status)
        let series = AttemptSeries(
            attempts: self.attempts[key],
            durations: self.durations[AttemptClassKey(method: key.method, codes: codes, host: key.host)])
        state.byKey[key] = series
        return series
    }
}

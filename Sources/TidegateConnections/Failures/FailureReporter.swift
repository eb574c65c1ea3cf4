package import TidegateCore

/// Makes events of failures: of those that are alike the first one at once, then one every ten seconds with their number.
package struct FailureReporter: Sendable {
    private struct Key: Hashable {
        let remote: Remote
        let outcome: ConnectionOutcome
    }

    private struct Run {
        var reported: MonotonicTime
        var count = 0
        var party: FaultParty
    }

    private static let interval = Duration.seconds(10)
    // What scans or floods make must not grow without an end.
    private static let limit = 1024

    private var runs: [Key: Run] = [:]

    package init() {}

    /// A connection failed; the event, if it is the first of its kind.
    package mutating func add(
        _ remote: Remote, _ outcome: ConnectionOutcome, _ party: FaultParty, at now: MonotonicTime
    ) -> ConnectionEvent? {
        let key = Key(remote: remote, outcome: outcome)
        guard self.runs[key] == nil else {
            self.runs[key]?.count += 1
            self.runs[key]?.party = party
            return nil
        }
        guard self.runs.count < Self.limit else { return nil }
        self.runs[key] = Run(reported: now, party: party)
        return .failed(ConnectionEvent.Failure(remote, outcome, party: party, count: 1))
    }

    /// The events that are due.
    package mutating func flush(at now: MonotonicTime) -> [ConnectionEvent] {
        var events: [ConnectionEvent] = []
        for (key, run) in self.runs where now - run.reported >= Self.interval {
            guard run.count > 0 else {
                self.runs[key] = nil
                continue
            }
            events.append(
                .failed(ConnectionEvent.Failure(key.remote, key.outcome, party: run.party, count: run.count)))
            self.runs[key] = Run(reported: now, party: run.party)
        }
        return events
    }
}

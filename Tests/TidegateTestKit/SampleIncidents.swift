internal import Synchronization
package import TidegateCore

/// Outages for tests.
package enum SampleIncidents {
    package static let evil = "<script>alert(1)</script>\"'&=1+1"

    /// An outage that is over, one of a target, and one that lasts.
    package static func all(at now: WallTime, isEvil: Bool = false) -> [Incident] {
        func incident(_ id: String, _ scope: Incident.Scope, _ party: FaultParty, _ start: Int64, _ end: Int64?)
            -> Incident
        {
            let finding = Incident.Finding(
                party: party, cause: isEvil ? Self.evil : "10.0.0.2 hears nothing", advice: isEvil ? Self.evil : "Ask.",
                certainty: party == .theirs ? .proven : .probable,
                evidence: ["families": ["ipv4": ["rungs": ["gateway": "ok"], "evidence": ["10.0.0.2 asked"]]]])
            var incident = Incident(
                id: id, scope, name: scope == .target ? isEvil ? Self.evil : "api" : nil, finding,
                start: now - .seconds(start))
            incident.network = .init(interface: isEvil ? Self.evil : "eth0", gateway: "10.0.0.1", source: "10.0.0.2")
            incident.note.text = isEvil ? Self.evil : nil
            if let end {
                incident.drops[0].end = now - .seconds(end)
                (incident.end, incident.endReason) = (now - .seconds(end), .recovered)
            }
            return incident
        }
        return [
            incident("a1", .network, .upstream, 90_000, 86_400), incident("b1", .target, .theirs, 5000, 4000),
            incident("b2", .network, .gateway, 600, nil),
        ]
    }
}

/// A finding with a rung as its evidence.
package func finding(_ party: FaultParty) -> Incident.Finding {
    Incident.Finding(party: party, cause: "\(party)", certainty: .probable, evidence: ["rung": "tcp"])
}

/// Ids that sort in the order in which they were made.
package final class Numbers: Sendable {
    private let last: Mutex<Int64>

    /// Ids from a time on.
    package init(from start: WallTime) { self.last = Mutex(start.microseconds) }

    /// The next id.
    package func next() -> String {
        self.last.withLock {
            $0 += 1
            return String($0)
        }
    }
}

package import TidegateCore

/// All that is known of an incident, as names and texts for commands, reports and the page.
package struct IncidentDetails {
    let incident: Incident
    /// Open incidents last until then.
    let now: WallTime
    /// How a time is written.
    var time: (WallTime) -> String

    /// The details of an incident; times are in UTC unless `time` writes them otherwise.
    package init(
        of incident: Incident, at now: WallTime, time: @escaping (WallTime) -> String = { $0.dateAndTime }
    ) {
        (self.incident, self.now, self.time) = (incident, now, time)
    }

    /// Each with its name; nothing that is not known.
    package var rows: [(name: String, text: String)] {
        let incident = self.incident
        let rows: [(String, String?)] = [
            ("id", incident.id), ("what", incident.subject),
            ("kind", incident.kind == .down ? nil : incident.kind.rawValue), ("start", self.time(incident.start)),
            ("end", self.end),
            (incident.kind == .degraded ? "slow" : "down", incident.downtime(at: self.now).shortText),
            ("drops", incident.dropCount > 1 ? "\(incident.dropCount)" : nil),
            ("responsible", "\(incident.finding.party), \(incident.finding.certainty.rawValue)"),
            ("cause", incident.finding.cause), ("advice", incident.finding.advice),
            ("affected", self.affected), ("failed in this time", self.failures),
            ("network", incident.network.map(Self.text)), ("continues", incident.continues),
            ("maintenance", incident.note.isPlanned ? "planned" : nil), ("note", incident.note.text),
            ("reference", incident.note.reference), ("reported", incident.note.reported.map(self.time)),
        ]
        return (rows + self.evidence).compactMap { name, text in
            text.flatMap { $0.isEmpty ? nil : (name, $0) }
        }
    }

    private var end: String {
        guard let end = self.incident.end else { return "ongoing" }
        return self.time(end) + (self.incident.endReason?.clause.map { ", \($0)" } ?? "")
    }

    private var affected: String {
        let (targets, probes) = (self.incident.targets.sorted(), self.incident.probes.sorted())
        return (targets + probes.map { "probe \($0)" }).joined(separator: ", ")
    }

    private var failures: String {
        [
            (self.incident.attempts, "attempt of tasks", "attempts of tasks"),
            (self.incident.connections, "connection of other programs", "connections of other programs"),
        ]
        .compactMap { count, one, many in count > 0 ? "\(count) \(count == 1 ? one : many)" : nil }
        .joined(separator: ", ")
    }

    /// The measurements at the start and at the end: the rungs of each family, and the clauses of the one that fails.
    private var evidence: [(String, String?)] {
        [
            ("at the start", self.incident.finding.evidence), ("later", self.incident.worst),
            ("at the end", self.incident.recovery),
        ]
        .flatMap { moment, evidence -> [(String, String?)] in
            guard case .object(let families)? = evidence["families"] else { return [] }
            return families.map { family in
                let rungs: [JSONValue.Member] =
                    if case .object(let members)? = family.value["rungs"] { members } else { [] }
                let states = rungs.map { "\($0.name) \($0.value.text ?? "")" }
                let clauses = family.value["evidence"]?.elements.compactMap(\.text) ?? []
                return ("\(moment), \(family.name)", (states + clauses).joined(separator: ", "))
            }
        }
    }

    private static func text(of network: Incident.Network) -> String {
        [network.interface, network.gateway.map { "gateway \($0)" }, network.source.map { "address \($0)" }]
            .compactMap(\.self).joined(separator: ", ")
    }
}

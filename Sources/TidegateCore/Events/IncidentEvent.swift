/// Something happened to an incident.
public struct IncidentEvent: Sendable {
    /// What happened.
    package enum Kind: String, Sendable {
        case opened
        /// It became intermittent, or more became known of its cause.
        case changed
        case closed
    }

    package var kind: Kind
    package var incident: Incident

    /// An event from its parts.
    package init(_ kind: Kind, _ incident: Incident) { (self.kind, self.incident) = (kind, incident) }

    private var sentence: String {
        let incident = self.incident
        guard self.kind == .closed, let end = incident.end else {
            return
                "\(self.incident.subject) \(incident.kind.rawValue): \(incident.finding.cause) (\(incident.finding.party))"
        }
        if incident.endReason == .merged { return "\(self.incident.subject): the outage is part of the network's" }
        let time = incident.downtime(at: end).shortText
        if incident.kind == .degraded, let clause = incident.endReason?.clause {
            return "\(incident.subject) was slow for \(time), and \(clause)"
        }
        let what = incident.kind == .degraded ? "the slowness" : "the outage"
        return "\(incident.subject): \(what) is over after \(time)"
    }

    var projection: EventProjection {
        let (incident, end) = (self.incident, self.incident.end)
        return EventProjection(
            "incident.\(self.kind.rawValue)", self.kind == .closed ? .info : .warning,
            "incident \(self.kind.rawValue)", self.sentence,
            [
                .both("id", incident.id), .both("kind", incident.kind.rawValue),
                .both("scope", incident.scope.rawValue), .both("target", incident.name),
                .both("party", .word(incident.finding.party)), .both("cause", incident.finding.cause),
                .both("certainty", incident.finding.certainty.rawValue),
                .both("start", incident.start.description), .both("end", end?.description),
                .both("downSeconds", end.map { incident.downtime(at: $0) }, log: "down"),
                .both("endReason", incident.endReason?.rawValue, log: "end_reason"),
                .both("continues", incident.continues),
            ])
    }
}

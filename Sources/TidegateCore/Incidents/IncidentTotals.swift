/// Counts of incidents, and of time.
package struct IncidentTotals: Sendable, Hashable {
    /// The labels that incidents are counted by.
    package struct Key: Sendable, Hashable {
        package var scope: Incident.Scope
        package var kind: Incident.Kind
        package var party: FaultParty

        /// A key from its parts.
        package init(_ scope: Incident.Scope, _ kind: Incident.Kind, _ party: FaultParty) {
            (self.scope, self.kind, self.party) = (scope, kind, party)
        }

        /// The key of an incident.
        package init(_ incident: Incident) { self.init(incident.scope, incident.kind, incident.finding.party) }
    }

    /// How long a target was up and down.
    package struct Account: Sendable, Hashable {
        package var up = Duration.zero
        package var down: [FaultParty: Duration] = [:]

        /// Nothing yet.
        package init() {}
    }

    /// Incidents that are open.
    package var open: [Key: Int] = [:]
    /// Incidents that have begun.
    package var begun: [Key: UInt64] = [:]
    /// The time down of all incidents, open ones included.
    package var down: [Key: Duration] = [:]
    /// The time that Tidegate has watched.
    package var watched = Duration.zero
    /// The targets that are checked, by name.
    package var targets: [String: Account] = [:]

    /// Nothing yet.
    package init() {}
}

package import TidegateCore

/// What records incidents.
package protocol IncidentRecord: Sendable {
    /// The recorded incidents that a question asks for.
    ///
    /// - Throws: ``TextError`` if they cannot be read.
    func answer(_ question: IncidentQuestion) async throws(TextError) -> IncidentAnswer
    /// Replaces what an operator wrote about an incident, and returns it once it is durable; nil if it is not known.
    func write(_ note: Incident.Note, about id: String) async throws(TextError) -> Incident?
    /// Plans maintenance, and returns the planned period.
    func plan(_ text: String, from start: WallTime, to end: WallTime) async throws(TextError) -> Coverage.Span
    /// Removes planned maintenance; false if it is not known.
    func removePlan(_ id: String) async throws(TextError) -> Bool
    /// The id of the open incident of this host's way out; nil without one.
    var openHostIncident: String? { get }
    /// The counts since the start of the process, for metrics.
    var totals: IncidentTotals { get }
}

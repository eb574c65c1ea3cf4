package import TidegateCore

/// A store that keeps incidents for longer than a process.
package protocol IncidentJournal: Sendable {
    /// Writes changes of incidents in one transaction; the completion is called on another thread.
    func record(_ changes: [IncidentChange], _ completion: @escaping @Sendable (_ isWritten: Bool) -> Void)
    /// The incidents that an earlier process left open, and when it last watched; nothing if they cannot be read.
    ///
    /// Blocks for the disk.
    func leftIncidents() -> (incidents: [Incident], lastBeat: WallTime?)
    /// Reads incidents and coverage, with what is `newer`.
    ///
    /// - Throws: ``TextError`` if the journal is closed or cannot be read.
    func incidents(
        _ question: IncidentQuestion, at now: WallTime, newer: IncidentsNow
    ) async throws(TextError) -> IncidentAnswer
}

/// A change to what is stored of incidents.
package enum IncidentChange: Sendable, Hashable {
    case save(Incident)
    /// An incident or a period.
    case remove(id: String)
    case cover(Coverage.Span)
}

/// The part of a recorder that its journal lacks: incidents by id, and the span that lasts.
package struct IncidentsNow: Sendable {
    package let open: [String: Incident]
    package let span: Coverage.Span
}

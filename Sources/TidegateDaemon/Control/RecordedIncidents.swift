package import TidegateCore
internal import TidegateLoop
internal import TidegateStore

/// The incidents of a state directory, for commands that find no daemon.
package enum RecordedIncidents {
    /// Reads the incidents as they are at `now`.
    ///
    /// - Throws: ``TextError`` if there is no journal, or if it cannot be read.
    package static func answer(
        _ question: IncidentQuestion, at now: WallTime, inStateDirectory directory: String
    ) async throws(TextError) -> IncidentAnswer {
        try await IncidentFile.answer(question, at: now, inStateDirectory: directory)
    }
}

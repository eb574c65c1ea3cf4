package import TidegateCore

/// Makes single attempts, each on a new connection or as its request says, for callers that wait for their outcome.
///
/// Its thread starts with the first attempt and ends with the last copy of the client.
package struct AttemptClient: Sendable {
    private let thread: HTTPCheckThread

    /// A client whose thread has `name`, of which the kernel shows 15 bytes.
    ///
    /// `onThreadStart` runs first on the thread, for tests to enter a namespace.
    /// Every socket is noted in `own`.
    package init(
        name: String, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.thread = HTTPCheckThread(name: name, own: own, onThreadStart: onThreadStart)
    }

    /// Whether its thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.thread.isStalled }

    /// Makes an attempt, whose number does not matter; after `limit`, or when the Swift task is cancelled, it ends.
    ///
    /// `onStart` is given what its ``ChunkSink`` calls, on any thread, when it has room again.
    ///
    /// - Throws: Why no attempt could be made.
    package func run(
        _ request: AttemptRequest, within limit: Duration, onStart: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async throws(TextError) -> AttemptOutcome {
        let outcome = await self.thread.run(request, within: limit, onStart: onStart)
        guard let attempt = outcome.attempt else { throw TextError(outcome.text) }
        return attempt
    }
}

internal import Synchronization
package import TidegateCore

/// Makes single attempts, each on a new connection or as its request says, for callers that wait for their outcome.
///
/// Its thread starts with the first attempt and ends with the client.
package final class AttemptClient: Sendable {
    private struct State {
        var thread: TransferThread<HTTPCheckClient>?
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let name: String
    private let own: OwnSockets?
    private let onThreadStart: @Sendable () -> Void

    /// A client whose thread has `name`, of which the kernel shows 15 bytes.
    ///
    /// `onThreadStart` runs first on the thread, for tests to enter a namespace.
    /// Every socket is noted in `own`.
    package init(
        name: String, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.name = name
        self.own = own
        self.onThreadStart = onThreadStart
    }

    deinit { self.state.withLock { $0.thread.take() }?.stop() }

    /// Whether its thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.state.withLock { $0.thread?.isStalled ?? false } }

    /// Makes an attempt, whose number does not matter; after `limit`, or when the Swift task is cancelled, it ends.
    ///
    /// `onStart` is given what its ``ChunkSink`` calls, on any thread, when it has room again.
    ///
    /// - Throws: Why no attempt could be made.
    package func run(
        _ request: AttemptRequest, within limit: Duration, onStart: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async throws(TextError) -> AttemptOutcome {
        let outcome = await self.outcome(of: request, within: limit, onStart: onStart)
        guard let attempt = outcome.attempt else { throw TextError(outcome.text) }
        return attempt
    }

    /// Runs one attempt, whose number is given here, and waits for its end; with a `body` until that is full.
    func outcome(
        of request: AttemptRequest, within limit: Duration, body: BodyPrefix? = nil,
        onStart: (@escaping @Sendable () -> Void) -> Void = { _ in }, onWire: @escaping @Sendable () -> Void = {}
    ) async -> HTTPCheckOutcome {
        let (name, own, onThreadStart) = (self.name, self.own, self.onThreadStart)
        // The lock is held while the thread starts, which happens once.
        let (thread, number) = self.state.withLock { state in
            if state.thread == nil {
                state.thread = try? TransferThread(name: name, own: own) { engine in
                    onThreadStart()
                    return HTTPCheckClient(engine: engine)
                }
            }
            state.lastNumber += 1
            return (state.thread, state.lastNumber)
        }
        guard let thread else { return HTTPCheckOutcome(text: "no thread can be started for it") }
        var numbered = request
        numbered.id = AttemptID(rawValue: number)
        onStart { [id = numbered.id] in thread.send(.resume(id)) }
        let isCancelled = CancellationFlag()
        return await withTaskCancellationHandler { [numbered] in
            await withCheckedContinuation { continuation in
                let work = HTTPCheckClient.Work(
                    request: Indirect(numbered), limit: limit, body: body, isCancelled: isCancelled, onWire: onWire
                ) { continuation.resume(returning: $0) }
                if !thread.send(.start(work)) { continuation.resume(returning: .stopped) }
            }
        } onCancel: { [id = numbered.id] in
            // Noted first: the work itself may still be on its way to the thread.
            isCancelled.value.store(true, ordering: .releasing)
            thread.send(.cancel(id))
        }
    }
}

internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Makes single attempts for callers that await the outcome, each on a new connection unless the request says
/// otherwise.
///
/// Its thread starts with the first attempt and ends with the client.
package final class AttemptClient: Sendable {
    private let lazy: LazyThread<TransferThread<HTTPCheckClient>>
    private let lastNumber = Atomic<UInt64>(0)

    /// Creates a client whose thread is called `name`; the kernel shows its first 15 bytes.
    ///
    /// `onThreadStart` runs first on the thread, so that tests can enter a namespace. Every socket is recorded in
    /// `own`.
    package init(name: String, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}) {
        self.lazy = LazyThread {
            try? TransferThread(name: name, own: own) { engine in
                onThreadStart()
                return HTTPCheckClient(engine: engine)
            }
        }
    }

    deinit { self.lazy.take()?.stop() }

    /// Whether its thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.lazy.started?.load }

    /// Runs an attempt with any number; it ends after `limit` or when the Swift task is cancelled.
    ///
    /// `onStart` receives the closure that the ``ChunkSink`` calls, on any thread, when it has room again.
    ///
    /// - Throws: Why no attempt could be started.
    package func run(
        _ request: AttemptRequest, within limit: Duration, onStart: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async throws(TextError) -> AttemptOutcome {
        let outcome = await self.outcome(of: request, within: limit, onStart: onStart)
        guard let attempt = outcome.attempt else { throw TextError(outcome.text) }
        return attempt
    }

    /// Runs one attempt, assigns its number and awaits its end; with a `body`, the attempt ends when that is full.
    func outcome(
        of request: AttemptRequest, within limit: Duration, body: BodyPrefix? = nil,
        onStart: (@escaping @Sendable () -> Void) -> Void = { _ in }, onWire: @escaping @Sendable () -> Void = {}
    ) async -> HTTPCheckOutcome {
        guard let thread = self.lazy.thread else {
            return HTTPCheckOutcome(text: "no thread can be started for it")
        }
        var numbered = request
        numbered.use = .check
        numbered.id = AttemptID(rawValue: self.lastNumber.add(1, ordering: .relaxed).newValue)
        onStart { [id = numbered.id] in thread.send { $0.resume(id) } }
        let isCancelled = CancellationFlag()
        return await withTaskCancellationHandler { [numbered] in
            await withCheckedContinuation { continuation in
                let work = HTTPCheckClient.Work(
                    request: Indirect(numbered), limit: limit, body: body, isCancelled: isCancelled, onWire: onWire
                ) { continuation.resume(returning: $0) }
                if !thread.send({ $0.start(work) }) { continuation.resume(returning: .stopped) }
            }
        } onCancel: { [id = numbered.id] in
            // Set first: the work itself may not have reached the thread yet.
            isCancelled.value.store(true, ordering: .releasing)
            thread.send { $0.cancel(id) }
        }
    }
}

/// Runs checks on the check thread.
final class HTTPCheckClient: TransferClient {
    /// A closure that callers run on the thread.
    typealias Command = @Sendable (HTTPCheckClient) -> Void

    struct Work: Sendable {
        let request: Indirect<AttemptRequest>
        let limit: Duration
        /// Keeps the start of the body and ends the attempt when it is full; nil to read the whole body.
        let body: BodyPrefix?
        let isCancelled: CancellationFlag
        let onWire: @Sendable () -> Void
        let completion: @Sendable (HTTPCheckOutcome) -> Void
        /// The timer that ends the attempt.
        var timer: TimerID?
        var hasHead = false
        var hasEnough = false
    }

    private let engine: TransferEngine
    private var checks: [AttemptID: Work] = [:]

    init(engine: TransferEngine) { self.engine = engine }

    func receive(_ command: Command) { command(self) }

    func cancel(_ id: AttemptID) { self.engine.end(id, as: .cancelled, HTTPCheckClient.cancelled) }

    func resume(_ id: AttemptID) { self.engine.sinkHasRoom(id) }

    private static let cancelled = "the check was cancelled"

    func start(_ work: Work) {
        guard !work.isCancelled.value.load(ordering: .acquiring) else {
            return work.completion(HTTPCheckOutcome(text: HTTPCheckClient.cancelled))
        }
        do throws(CurlError) {
            try self.engine.start(work.request)
        } catch {
            return work.completion(HTTPCheckOutcome(text: error.text))
        }
        var work = work
        work.timer = self.engine.schedule(after: work.limit, token: work.request.value.id.rawValue)
        self.checks[work.request.value.id] = work
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        switch report {
        case .wireReached: self.checks[id]?.onWire()
        case .progress: break
        case .head:
            self.checks[id]?.hasHead = true
            self.endIfEnough(id)
        case .finished(let outcome): self.finish(id, outcome.value)
        }
    }

    private func endIfEnough(_ id: AttemptID) {
        guard let check = self.checks[id], check.hasHead, !check.hasEnough, check.body?.isFull ?? false else {
            return
        }
        self.checks[id]?.hasEnough = true
        self.engine.end(id, as: .cancelled, "enough of the body was read")
    }

    private func finish(_ id: AttemptID, _ outcome: AttemptOutcome) {
        guard let check = self.checks.removeValue(forKey: id) else { return }
        if let timer = check.timer { self.engine.cancel(timer) }
        check.completion(
            HTTPCheckOutcome(attempt: outcome, body: check.body?.bytes ?? [], hasEnough: check.hasEnough))
    }

    func timerFired(_ token: UInt64) { self.engine.end(AttemptID(rawValue: token), as: .timedOut, "no answer in time") }

    func batchEnded() {
        for id in self.checks.keys { self.endIfEnough(id) }
    }

    func stopping() {
        for check in self.checks.values { check.completion(.stopped) }
        self.checks = [:]
    }
}

/// The outcome of a check.
struct HTTPCheckOutcome: Sendable {
    /// The attempt's outcome; nil if none was started.
    var attempt: AttemptOutcome?
    /// The first bytes of a 2xx response's body.
    var body: [UInt8] = []
    /// True if the check ended because enough of the body had been read.
    var hasEnough = false
    /// Why no attempt was started.
    var text = ""

    static let stopped = HTTPCheckOutcome(text: "the checker has ended")
}

/// The first bytes of a body; the rest is dropped.
final class BodyPrefix: ChunkSink {
    private let limit: Int
    private let kept = Mutex<[UInt8]>([])

    init(limit: Int) { self.limit = limit }

    var bytes: [UInt8] { self.kept.withLock { $0 } }
    var isFull: Bool { self.kept.withLock { $0.count >= self.limit } }

    func hasRoom() -> Bool { true }

    func write(_ chunk: [UInt8]) { self.kept.withLock { $0.append(contentsOf: chunk.prefix(self.limit - $0.count)) } }
}

/// True once the caller of a check has been cancelled.
final class CancellationFlag: Sendable {
    let value = Atomic<Bool>(false)
}

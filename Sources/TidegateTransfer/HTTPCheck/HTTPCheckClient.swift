internal import Synchronization
internal import TidegateCore
internal import TidegateLoop

/// Runs checks on the check thread.
final class HTTPCheckClient: TransferClient {
    enum Command: Sendable {
        case start(Work)
        case cancel(AttemptID)
        /// The attempt's sink has room again.
        case resume(AttemptID)
    }

    struct Work: Sendable {
        let request: Indirect<AttemptRequest>
        let limit: Duration
        /// What is kept of the body, after which the attempt ends; nil to read all of it.
        let body: BodyPrefix?
        let isCancelled: CancellationFlag
        let onWire: @Sendable () -> Void
        let completion: @Sendable (HTTPCheckOutcome) -> Void
    }

    private struct Check {
        let work: Work
        let timer: TimerID
        var hasHead = false
        var hasEnough = false
    }

    private let engine: TransferEngine
    private var checks: [AttemptID: Check] = [:]

    init(engine: TransferEngine) { self.engine = engine }

    func receive(_ command: Command) {
        switch command {
        case .start(let work): self.start(work)
        case .cancel(let id): self.engine.end(id, as: .cancelled, HTTPCheckClient.cancelled)
        case .resume(let id): self.engine.sinkHasRoom(id)
        }
    }

    private static let cancelled = "the check was cancelled"

    private func start(_ work: Work) {
        guard !work.isCancelled.value.load(ordering: .acquiring) else {
            return work.completion(HTTPCheckOutcome(text: HTTPCheckClient.cancelled))
        }
        do throws(CurlError) {
            try self.engine.start(work.request)
        } catch {
            return work.completion(HTTPCheckOutcome(text: error.text))
        }
        let timer = self.engine.schedule(after: work.limit, token: work.request.value.id.rawValue)
        self.checks[work.request.value.id] = Check(work: work, timer: timer)
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        switch report {
        case .wireReached: self.checks[id]?.work.onWire()
        case .progress: break
        case .head:
            self.checks[id]?.hasHead = true
            self.endIfEnough(id)
        case .finished(let outcome): self.finish(id, outcome.value)
        }
    }

    private func endIfEnough(_ id: AttemptID) {
        guard let check = self.checks[id], check.hasHead, !check.hasEnough, check.work.body?.isFull ?? false else {
            return
        }
        self.checks[id]?.hasEnough = true
        self.engine.end(id, as: .cancelled, "enough of the body was read")
    }

    private func finish(_ id: AttemptID, _ outcome: AttemptOutcome) {
        guard let check = self.checks.removeValue(forKey: id) else { return }
        self.engine.cancel(check.timer)
        check.work.completion(
            HTTPCheckOutcome(attempt: outcome, body: check.work.body?.bytes ?? [], hasEnough: check.hasEnough))
    }

    func timerFired(_ token: UInt64) {
        self.engine.end(AttemptID(rawValue: token), as: .timedOut, "no answer in time")
    }

    func batchEnded() {
        for id in self.checks.keys { self.endIfEnough(id) }
    }

    func stopping() {
        for check in self.checks.values { check.work.completion(.stopped) }
        self.checks = [:]
    }
}

/// How a check ended.
struct HTTPCheckOutcome: Sendable {
    /// The attempt's outcome; nil if none was started.
    var attempt: AttemptOutcome?
    /// The first bytes of a 2xx response's body.
    var body: [UInt8] = []
    /// True if the check was ended because enough of the body had been read.
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

    func write(_ chunk: [UInt8]) {
        self.kept.withLock { $0.append(contentsOf: chunk.prefix(self.limit - $0.count)) }
    }
}

/// True once the caller of a check has been cancelled.
final class CancellationFlag: Sendable {
    let value = Atomic<Bool>(false)
}

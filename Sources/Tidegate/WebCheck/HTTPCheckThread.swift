internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The thread that looks, started when there is something to look at.
final class HTTPCheckThread: Sendable {
    private struct State {
        var thread: TransferThread<CheckClient>?
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let caFile: String?
    private let userAgent: String
    private let onThreadStart: @Sendable () -> Void

    init(caFile: String?, userAgent: String, onThreadStart: @escaping @Sendable () -> Void) {
        self.caFile = caFile
        self.userAgent = userAgent
        self.onThreadStart = onThreadStart
    }

    deinit { self.state.withLock { $0.thread.take() }?.stop() }

    /// Makes one look and waits for its end.
    func run(_ question: HTTPCheckRequest, isInsecure: Bool = false) async -> CheckEnd {
        let onThreadStart = self.onThreadStart
        // Nobody else sees the thread before it is there: the lock is held while it starts, once.
        let (thread, number) = self.state.withLock { state in
            if state.thread == nil {
                state.thread = try? TransferThread(name: "tg-check") { engine in
                    onThreadStart()
                    return CheckClient(engine: engine)
                }
            }
            state.lastNumber += 1
            return (state.thread, state.lastNumber)
        }
        guard let thread else { return CheckEnd(text: "this host gives no thread for it") }
        let body = BodyPrefix(limit: max(0, question.bodyLimit))
        let request = self.request(question, number, body, isInsecure: isInsecure)
        let isGivenUp = CancellationFlag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let order = CheckClient.Order(
                    request: request, limit: question.limit, body: body, isGivenUp: isGivenUp
                ) { waiter.resume(returning: $0) }
                if !thread.send(.look(order)) { waiter.resume(returning: CheckEnd(text: "the checker has ended")) }
            }
        } onCancel: {
            // Noted first: the order itself may still be on its way.
            isGivenUp.value.store(true, ordering: .releasing)
            thread.send(.giveUp(request.id))
        }
    }

    private func request(
        _ question: HTTPCheckRequest, _ number: UInt64, _ body: BodyPrefix, isInsecure: Bool
    ) -> AttemptRequest {
        AttemptRequest(
            id: AttemptID(rawValue: number), url: question.url, method: question.method,
            addresses: [question.address], sink: .chunks(body), connectTimeout: question.limit,
            tls: TLSOptions(caFile: self.caFile, isInsecure: isInsecure), userAgent: self.userAgent,
            depth: question.depth, isAlone: true, wantsCertificate: true)
    }
}

/// How a look ended.
struct CheckEnd: Sendable {
    /// All that is known; nil where nothing was begun.
    var outcome: AttemptOutcome?
    /// The first bytes of a good answer's body.
    var body: [UInt8] = []
    /// True where we ended it because we had seen enough.
    var isEnough = false
    /// Why nothing was begun.
    var text = ""
}

/// The first bytes of a body; the rest is thrown away.
final class BodyPrefix: ChunkSink {
    private let limit: Int
    private let kept = Mutex<[UInt8]>([])

    init(limit: Int) { self.limit = limit }

    var bytes: [UInt8] { self.kept.withLock { $0 } }
    var isFull: Bool { self.kept.withLock { $0.count >= self.limit } }

    func hasRoom() -> Bool { true }

    func take(_ chunk: [UInt8]) {
        self.kept.withLock { $0.append(contentsOf: chunk.prefix(self.limit - $0.count)) }
    }
}

/// Whether nobody waits for an answer any more.
final class CancellationFlag: Sendable {
    let value = Atomic<Bool>(false)
}

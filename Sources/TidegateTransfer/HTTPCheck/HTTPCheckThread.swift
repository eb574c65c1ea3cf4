internal import Synchronization
internal import TidegateCore

/// The thread that runs checks, started with the first one.
final class HTTPCheckThread: Sendable {
    private struct State {
        var thread: TransferThread<HTTPCheckClient>?
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let name: String
    private let caFile: String?
    private let userAgent: String
    private let own: OwnSockets?
    private let onThreadStart: @Sendable () -> Void

    init(
        name: String = "tg-check", caFile: String? = nil, userAgent: String = "", own: OwnSockets? = nil,
        onThreadStart: @escaping @Sendable () -> Void
    ) {
        self.name = name
        self.caFile = caFile
        self.userAgent = userAgent
        self.own = own
        self.onThreadStart = onThreadStart
    }

    deinit { self.state.withLock { $0.thread.take() }?.stop() }

    var isStalled: Bool { self.state.withLock { $0.thread?.isStalled ?? false } }

    /// Runs one check and waits for its end.
    func run(
        _ check: HTTPCheck.Request, isInsecure: Bool = false, onWire: @escaping @Sendable () -> Void = {}
    ) async -> HTTPCheckOutcome {
        let body = BodyPrefix(limit: max(0, check.bodyLimit))
        // libcurl's own connect timeout fires first, and explains more.
        return await self.run(
            self.attemptRequest(check, body, isInsecure: isInsecure), within: check.limit + .milliseconds(20),
            body: body, onWire: onWire)
    }

    /// Runs one attempt, whose number is given here, and waits for its end; with a `body` until that is full.
    func run(
        _ request: AttemptRequest, within limit: Duration, body: BodyPrefix? = nil,
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
                    request: numbered, limit: limit, body: body, isCancelled: isCancelled, onWire: onWire
                ) { continuation.resume(returning: $0) }
                if !thread.send(.start(work)) { continuation.resume(returning: .stopped) }
            }
        } onCancel: { [id = numbered.id] in
            // Noted first: the work itself may still be on its way to the thread.
            isCancelled.value.store(true, ordering: .releasing)
            thread.send(.cancel(id))
        }
    }

    private func attemptRequest(
        _ check: HTTPCheck.Request, _ body: BodyPrefix, isInsecure: Bool
    ) -> AttemptRequest {
        var request = AttemptRequest(
            id: AttemptID(rawValue: 0), url: check.url, method: check.method, addresses: [check.address],
            sink: .chunks(body), connectTimeout: min(check.connectLimit ?? check.limit, check.limit),
            tls: TLSOptions(caFile: self.caFile, isInsecure: isInsecure), proxy: check.proxy, userAgent: self.userAgent,
            lastStage: check.lastStage, usesFreshConnection: true, wantsCertificate: true)
        if let size = check.segmentSize { request.segmentSize = size }
        return request
    }
}

internal import NIOCore
internal import NIOHTTP1

/// Ends a connection whose request takes too long, from its first byte on, and keeps its place in the table.
///
/// The first of the pipeline: it sees the bytes of handshakes, and what it closes does not wait for a closing handshake.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let table: ConnectionTable
    private let limit: TimeAmount
    private var number: UInt64?
    private var progress = RequestProgress()
    private var context: ChannelHandlerContext?
    private var deadline: Scheduled<Void>?

    /// A handler for one connection; each request has `limit` to arrive.
    init(_ table: ConnectionTable, limit: TimeAmount) {
        self.table = table
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let closer = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        self.number = self.table.admit(context.channel) { loop.execute { closer.value.close() } }
        // A handshake belongs to the time of the first request. Without a place the time is over.
        self.startDeadline(in: self.number == nil ? .zero : self.limit)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.cancelDeadline()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.progress.isIdle, self.deadline == nil { self.startDeadline(in: self.limit) }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if let number, self.progress.waiting > 0 {
            if context.channel.isWritable { self.noteActivity() } else { self.table.change(number) { $0.stall($1) } }
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Requests

    /// The head of a request has come; false if it is one too many.
    func requestDidBegin() -> Bool { self.progress.begin() }

    /// A request is here to its end.
    func requestDidEnd() {
        self.progress.finishReading()
        self.cancelDeadline()
        self.noteActivity()
    }

    /// A response has been sent to its end.
    func responseDidEnd() {
        // Bytes that are no request get a response, too.
        guard self.progress.waiting > 0 else { return }
        self.progress.finishAnswer()
        self.noteActivity()
    }

    private func noteActivity() {
        guard let number else { return }
        let progress = self.progress
        self.table.change(number) { places, number in
            if progress.isIdle { return places.complete(number) }
            // A client that sends more before it reads, or a body that nobody waits for.
            progress.waiting == 1 ? places.answer(number) : places.stall(number)
        }
    }

    /// Closes the connection without a closing handshake.
    func close() { self.context?.close(promise: nil) }

    // MARK: - Time

    private func startDeadline(in time: TimeAmount) {
        self.deadline = self.context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.close() }
    }

    private func cancelDeadline() {
        self.deadline?.cancel()
        self.deadline = nil
    }
}

/// How far the requests of one connection are.
struct RequestProgress: Sendable {
    /// How many requests may wait for their response: nobody pipelines more.
    static let maxWaiting = 32

    /// Requests whose response has not been sent.
    private(set) var waiting = 0
    /// True from the head of a request to its end.
    private(set) var isReading = false

    /// True between requests: the next byte begins one.
    var isIdle: Bool { self.waiting == 0 && !self.isReading }

    /// A request's head has come; false if too many wait.
    mutating func begin() -> Bool {
        self.waiting += 1
        self.isReading = true
        return self.waiting <= Self.maxWaiting
    }

    /// A request's end has come.
    mutating func finishReading() { self.isReading = false }

    /// A response has been sent.
    mutating func finishAnswer() { self.waiting -= 1 }
}

internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import Synchronization
internal import TidegateCore

/// `GET /api/v1/events`: Server-Sent Events until the client disconnects.
struct EventsRoute: Sendable {
    let dependencies: EndpointRoutes.Dependencies
    let slots: EventStreamSlots

    func respond(to request: Request, context: ServerContext) -> Response {
        var response = Response(status: .ok, headers: [.contentType: "text/event-stream"])
        // Otherwise nginx would buffer the events.
        response.headers[named: "X-Accel-Buffering"] = "no"
        let lastID = request.headers[named: "Last-Event-ID"].flatMap { $0.isEmpty ? nil : $0 }
        guard request.method == .get else {
            response.body = ResponseBody { _ in }
            return response
        }
        let (channel, slots) = (context.channel, self.slots)
        let reader = self.dependencies.history.follow(
            after: lastID, bufferingNewest: self.dependencies.configuration.eventsKept)
        guard let slot = slots.acquire(reader, on: ObjectIdentifier(channel)) else {
            reader.end()
            return .unavailable("Too many event streams.", retryAfter: 5)
        }
        channel.closeFuture.whenComplete { _ in
            reader.end()
            slots.release(slot)
        }
        let stream = EventStream(dependencies: self.dependencies, reader: reader)
        response.body = ResponseBody { writer in
            defer { slots.release(slot) }
            try await stream.run(after: lastID, to: &writer, on: channel)
        }
        return response
    }
}

/// Sends events to one client until either side ends the stream.
struct EventStream {
    let dependencies: EndpointRoutes.Dependencies
    let reader: EventHistory.Reader

    /// Writes until the reader ends, the connection closes, or a write takes longer than the write timeout.
    ///
    /// - Parameter lastID: The `Last-Event-ID` of the client; nil if it sent none.
    func run(after lastID: String?, to body: inout any ResponseBodyWriter, on channel: any Channel) async throws {
        // Progress is neither kept in the history nor repeated.
        let configuration = self.dependencies.configuration
        let progress = self.dependencies.bus.subscribe(.sse, bufferingNewest: configuration.eventsKept) { event in
            guard case .task(let task) = event.payload, case .progress = task.kind else { return false }
            return true
        }
        let reader = self.reader
        let heartbeat = Self.every(configuration.heartbeat, on: channel) { reader.wake() }
        let progressTimer = Self.every(configuration.progressInterval, on: channel) {
            if progress.hasWaiting { reader.wake() }
        }
        defer {
            heartbeat.cancel()
            progressTimer.cancel()
            progress.cancel()
        }
        try await self.write(self.beginning(after: lastID), to: &body, on: channel)
        while let batch = await reader.next() {
            let text = self.text(of: batch, progress: progress.takeWaiting())
            try await self.write(text.isEmpty ? EventFrame.heartbeat : text, to: &body, on: channel)
        }
        try await body.finish(nil)
    }

    private func beginning(after lastID: String?) -> String {
        let retry = "retry: 2000\n\n"
        guard !self.reader.isResumed else { return retry }
        return retry + self.snapshot(lastID == nil ? "snapshot" : "reset", id: self.reader.lastID)
    }

    private func text(of batch: EventHistory.Batch, progress: [Event]) -> String {
        let redaction = self.dependencies.configuration.redaction
        var text = EventFrame.progress(progress, redaction: redaction)
        if batch.dropped > 0 {
            text += self.snapshot("reset", id: nil, dropped: batch.dropped)
        }
        for event in batch.events {
            text += EventFrame.text(event, id: self.dependencies.history.id(of: event), redaction: redaction)
        }
        return text
    }

    // Further tasks are only counted.
    private static let taskLimit = 256

    /// The state at the start of a stream, or after a reset.
    ///
    /// - Parameter name: `reset` if the event of the `Last-Event-ID` is unknown, or if the client missed events.
    private func snapshot(_ name: String, id: String?, dropped: UInt64 = 0) -> String {
        let view = self.dependencies.view
        let sample = view.taskSample(atMost: EventStream.taskLimit)
        let data = JSONValue.object(
            [
                .init("schema", 1), .init("event", .string(name)),
                .init("time", .string(self.dependencies.time.wall().description)),
                .init("dropped", .integer(Int64(clamping: dropped))),
            ] + view.status.documentMembers + [
                .init("tasks", .array(sample.tasks.map(\.json))),
                .init("tasksLeftOut", .integer(Int64(sample.total - sample.tasks.count))),
            ])
        return EventFrame.text(id: id, name: name, data: data)
    }

    private func write(_ text: String, to body: inout any ResponseBodyWriter, on channel: any Channel) async throws {
        let timer = channel.eventLoop.scheduleTask(in: .init(self.dependencies.configuration.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        try await body.write(ByteBuffer(string: text))
    }

    private static func every(
        _ period: Duration, on channel: any Channel, _ work: @escaping @Sendable () -> Void
    ) -> RepeatedTask {
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .init(period), delay: .init(period)) { _ in work() }
    }
}

/// Server-Sent Events as text (HTML Living Standard 9.2): JSON on one line never contains a line end.
enum EventFrame {
    /// A comment, which clients ignore and which shows proxies that the connection is alive.
    static let heartbeat = ": heartbeat\n\n"

    /// An event; reconnecting clients do not refer to an event without an ID.
    static func text(_ event: Event, id: String?, redaction: URLRedaction) -> String {
        self.text(id: id, name: event.name, data: event.json(redaction: redaction))
    }

    static func text(id: String?, name: String, data: JSONValue) -> String {
        (id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: \(data)\n\n"
    }

    /// The latest progress of each task.
    static func progress(_ events: [Event], redaction: URLRedaction) -> String {
        var newest: [TaskID: Event] = [:]
        for event in events {
            if case .task(let task) = event.payload { newest[task.id] = event }
        }
        return newest.values.sorted { $0.sequence < $1.sequence }
            .map { self.text($0, id: nil, redaction: redaction) }.joined()
    }
}

/// The open event streams: their number is limited, and all end when the endpoint stops.
final class EventStreamSlots: Sendable {
    private let limit: Int
    private let state = Mutex(State())

    private struct State {
        var lastNumber = 0
        var open: [Int: (reader: EventHistory.Reader, connection: ObjectIdentifier)] = [:]
        var isEnding = false
    }

    init(limit: Int) { self.limit = limit }

    /// Takes a slot for a stream on this connection; nil if none is free.
    func acquire(_ reader: EventHistory.Reader, on connection: ObjectIdentifier) -> Int? {
        self.state.withLock { state in
            guard !state.isEnding, state.open.count < self.limit else { return nil }
            state.lastNumber += 1
            state.open[state.lastNumber] = (reader, connection)
            return state.lastNumber
        }
    }

    /// Frees a slot, unless it is already free.
    func release(_ slot: Int) { self.state.withLock { _ = $0.open.removeValue(forKey: slot) } }

    /// Ends every stream, including any that start later.
    func endAll() {
        let open = self.state.withLock { state in
            state.isEnding = true
            return state.open.values.map(\.self)
        }
        for slot in open { slot.reader.end() }
    }

    /// Ends the stream on a connection whose client has closed its sending side; nothing else reports that it
    /// disconnected.
    func end(on connection: ObjectIdentifier) {
        let slot = self.state.withLock { $0.open.values.first { $0.connection == connection } }
        slot?.reader.end()
    }
}

/// Ends event streams when their server begins to stop, or when their client disconnects.
final class EventStreamEndHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let slots: EventStreamSlots

    init(slots: EventStreamSlots) { self.slots = slots }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { self.slots.endAll() }
        // Half-closed connections are enabled here; a client that reads a stream has nothing more to send.
        if case .inputClosed? = event as? ChannelEvent { self.slots.end(on: ObjectIdentifier(context.channel)) }
        context.fireUserInboundEventTriggered(event)
    }
}

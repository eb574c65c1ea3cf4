internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization
package import TidegateCore
package import TidegateMetrics

/// Answers HTTP about a monitor: one server for each address, one thread for all.
package final class Endpoint: Sendable {
    private let configuration: EndpointConfiguration
    private let answers: Answers
    private let bus: EventBus
    private let time: any TimeSource
    private let inFlight = Atomic<Int>(0)
    private let streams: EventStreams
    private let desk: AccessController?

    /// An endpoint that looks at `view`, and tells `bus` about every answer.
    ///
    /// Its events go back to its own beginning, or to that of a `history` that is attached to the bus already. Without
    /// an `access` everybody is answered, in the clear.
    package init(
        configuration: EndpointConfiguration, view: any MonitorView, bus: EventBus, recorder: MetricsRecorder,
        time: any TimeSource, history: EventHistory? = nil, access: (any AccessSource)? = nil
    ) {
        let own = EventHistory(boot: time.wall().bootID, capacity: configuration.eventHistory)
        if history == nil { bus.attach(own) }
        let timeline = TimelineSink(from: time.monotonic())
        bus.attach(timeline)
        self.configuration = configuration
        self.answers = Answers(
            configuration: configuration, view: view, bus: bus, recorder: recorder, time: time, history: history ?? own,
            timeline: timeline)
        self.bus = bus
        self.time = time
        self.streams = EventStreams(limit: configuration.maxEventStreams)
        self.desk = access.map { AccessController($0, time: time) }
    }

    /// The samples that a scrape would find now, for whoever sends them where nobody scrapes.
    package func samples() -> [MetricSample] {
        self.answers.samples(inFlight: self.inFlight.load(ordering: .relaxed))
    }

    /// Answers until the task is cancelled or a graceful shutdown begins; answers under way are finished first.
    ///
    /// - Parameter whenListening: Called once, when every address is bound, with the addresses in the order of the
    ///   configuration and the ports that the kernel chose.
    package func run(
        whenListening: @escaping @Sendable ([ListenAddress]) -> Void = { _ in }
    ) async throws(EndpointError) {
        let bindings = Bindings(expected: self.configuration.listen.count, whenComplete: whenListening)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.desk?.start()
        defer { self.desk?.stop() }
        let failure = await self.serveAll(on: loops, bindings: bindings)
        do {
            try await loops.shutdownGracefully()
        } catch {
            throw failure ?? .failed(self.configuration.listen.first ?? .standard, "\(error)")
        }
        if let failure { throw failure }
    }

    // The first server that fails takes the others with it: an endpoint on half of its addresses would look healthy.
    private func serveAll(on loops: MultiThreadedEventLoopGroup, bindings: Bindings) async -> EndpointError? {
        await withTaskGroup(of: EndpointError?.self) { group in
            for (position, address) in self.configuration.listen.enumerated() {
                group.addTask {
                    await self.serve(address, on: loops) { port in
                        bindings.bound(position, to: ListenAddress(host: address.host, port: port ?? address.port))
                    }
                }
            }
            var first: EndpointError?
            for await failure in group {
                if first == nil, let failure { first = failure }
                if failure != nil { group.cancelAll() }
            }
            return first
        }
    }

    private func serve(
        _ address: ListenAddress, on loops: MultiThreadedEventLoopGroup, whenBound: @escaping @Sendable (Int?) -> Void
    ) async -> EndpointError? {
        let silent = Logger(label: "endpoint") { _ in SwiftLogNoOpLogHandler() }
        let (streams, stop) = (self.streams, ServerStop())
        let server = Server(
            childChannelSetup: TLSServerChannel(
                base: HTTP1Channel(
                    responder: { try await self.respond(to: $0, with: $1, on: $2) },
                    configuration: self.configuration.channel(endingWith: streams)),
                desk: self.desk),
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: address.port), backlog: 128,
                availableConnectionsDelegate: .maximum(self.configuration.maxConnections, logger: silent)),
            onServerRunning: {
                whenBound($0.localAddress?.port)
                stop.noteListening()
            }, eventLoopGroup: loops, logger: silent)
        do {
            try await stop.run(server)
            return nil
        } catch is CancellationError {
            return nil
        } catch {
            return EndpointError(error, at: address)
        }
    }

    private func respond(
        to request: Request, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        let count = self.inFlight.wrappingAdd(1, ordering: .relaxed).newValue
        let question = Question(request)
        let answer = await self.answer(to: question, authorization: request.headers[.authorization], inFlight: count)
        if let asked = answer.events, question.method == "GET" {
            // A stream lasts; it has places of its own.
            self.inFlight.wrappingSubtract(1, ordering: .relaxed)
            return try await self.stream(answer, asked, with: writer, on: channel)
        }
        defer { self.inFlight.wrappingSubtract(1, ordering: .relaxed) }
        try await self.write(answer, isHead: question.method == "HEAD", with: writer, on: channel)
    }

    private func answer(to question: Question, authorization: String?, inFlight: Int) async -> Answer {
        guard let desk = self.desk else { return await self.answers.answer(question, inFlight: inFlight) }
        let admission = await desk.admission(of: authorization)
        var answer: Answer
        if let refused = admission.answer(for: self.answers.handler(of: question)) {
            answer = refused
        } else {
            answer = await self.answers.answer(question, inFlight: inFlight)
        }
        answer.carry(admission.headers)
        return answer
    }

    private func write(
        _ answer: Answer, isHead: Bool, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        self.bus.publish(.daemon(.requestAnswered(handler: answer.handler.rawValue, status: answer.status)))
        // A client that stops reading would keep its buffers and its place for ever.
        let timer = channel.eventLoop.scheduleTask(in: .init(self.configuration.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        let head = answer.head(date: HTTPDate.text(self.time.wall()))
        if isHead, answer.events != nil {
            // Without a length the end of a body would be written, too; the end of the connection comes before.
            _ = try await writer.writeHead(head)
            try await channel.close()
        } else if isHead {
            try await writer.writeResponse(head)
        } else {
            try await writer.write(response: head, body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
        }
    }

    private func stream(
        _ answer: Answer, _ asked: EventQuery, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        let follower = self.answers.history.follow(after: asked.lastID, bufferingNewest: self.configuration.eventsKept)
        guard let place = self.streams.enter(follower, on: ObjectIdentifier(channel)) else {
            return try await self.write(Answer.tooManyStreams, isHead: false, with: writer, on: channel)
        }
        defer { self.streams.leave(place) }
        self.bus.publish(.daemon(.requestAnswered(handler: answer.handler.rawValue, status: answer.status)))
        let stream = EventStream(
            configuration: self.configuration, history: self.answers.history, follower: follower, bus: self.bus,
            view: self.answers.view, time: self.time)
        let head = answer.head(date: HTTPDate.text(self.time.wall()))
        try await stream.run(after: asked.lastID, head: head, with: writer, on: channel)
    }
}

/// Collects the bound addresses until all are there.
private final class Bindings: Sendable {
    private let addresses: Mutex<[ListenAddress?]>
    private let whenComplete: @Sendable ([ListenAddress]) -> Void

    init(expected: Int, whenComplete: @escaping @Sendable ([ListenAddress]) -> Void) {
        self.addresses = Mutex(Array(repeating: nil, count: expected))
        self.whenComplete = whenComplete
    }

    func bound(_ position: Int, to address: ListenAddress) {
        let complete = self.addresses.withLock { addresses -> [ListenAddress]? in
            addresses[position] = address
            let known = addresses.compactMap(\.self)
            return known.count == addresses.count ? known : nil
        }
        if let complete { self.whenComplete(complete) }
    }
}

extension EndpointConfiguration {
    // 16 KiB of header fields are more than any scraper or browser sends.
    fileprivate func channel(endingWith streams: EventStreams) -> HTTP1Channel.Configuration {
        .init(
            additionalChannelHandlers: [StreamEndListener(streams: streams)], idleTimeout: .init(self.idleTimeout),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 100))
    }
}

extension EndpointError {
    fileprivate init(_ error: any Error, at address: ListenAddress) {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE: self = .inUse(address)
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL: self = .notLocal(address)
        case let error as IOError where error.errnoCode == EACCES: self = .notPermitted(address)
        case SocketAddressError.unknown, is SocketAddressError.UnknownHost: self = .unresolvable(address)
        case is SocketAddressError.FailedToParseIPByteBuffer: self = .badAddress(address.description)
        default: self = .failed(address, "\(error)")
        }
    }
}

extension Question {
    fileprivate init(_ request: Request) {
        self.init(
            method: request.head.method.rawValue, target: request.head.path ?? "",
            accept: request.headers.list(.accept), acceptEncoding: request.headers.list(.acceptEncoding),
            lastEventID: HTTPField.Name("last-event-id").flatMap { request.headers[$0] })
    }
}

extension WallTime {
    /// Differs from one start to the next.
    fileprivate var bootID: String { String(self.microseconds, radix: 36) }
}

extension HTTPFields {
    // Several fields of one name are one list (RFC 9110 5.3).
    fileprivate func list(_ name: HTTPTypes.HTTPField.Name) -> String? {
        let values = self[values: name]
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}

extension Answer {
    fileprivate func head(date: String) -> HTTPResponse {
        var fields = HTTPFields()
        let length = self.events == nil ? [("content-length", String(self.body.count))] : []
        for (name, value) in [("content-type", self.contentType), ("date", date)] + length + Answer.guards + self.fields
        {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return HTTPResponse(status: .init(code: self.status), headerFields: fields)
    }
}

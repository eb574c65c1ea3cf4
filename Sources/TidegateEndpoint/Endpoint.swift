internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization
package import TidegateBus
package import TidegateMetrics
package import TidegateModel

/// Answers HTTP about a monitor: one server for each address, one thread for all.
package final class Endpoint: Sendable {
    private let configuration: EndpointConfiguration
    private let answers: Answers
    private let bus: EventBus
    private let time: any TimeSource
    private let inFlight = Atomic<Int>(0)

    /// An endpoint that looks at `view`, and tells `bus` about every answer.
    package init(
        configuration: EndpointConfiguration, view: any MonitorView, bus: EventBus, recorder: MetricsRecorder,
        time: any TimeSource
    ) {
        self.configuration = configuration
        self.answers = Answers(configuration: configuration, view: view, bus: bus, recorder: recorder, time: time)
        self.bus = bus
        self.time = time
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
        let server = Server(
            childChannelSetup: HTTP1Channel(
                responder: { try await self.respond(to: $0, with: $1, on: $2) },
                configuration: self.configuration.channel),
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: address.port), backlog: 128,
                availableConnectionsDelegate: .maximum(self.configuration.maxConnections, logger: silent)),
            onServerRunning: { whenBound($0.localAddress?.port) }, eventLoopGroup: loops, logger: silent)
        do {
            try await server.run()
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
        defer { self.inFlight.wrappingSubtract(1, ordering: .relaxed) }
        let question = Question(
            method: request.head.method.rawValue, target: request.head.path ?? "",
            accept: request.headers.list(.accept), acceptEncoding: request.headers.list(.acceptEncoding))
        let answer = await self.answers.answer(question, inFlight: count)
        self.bus.publish(.daemon(.requestAnswered(handler: answer.handler.rawValue, status: answer.status)))
        // A client that stops reading would keep its buffers and its place for ever.
        let timer = channel.eventLoop.scheduleTask(in: .init(self.configuration.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        let head = answer.head(date: self.time.wall().httpDate)
        if question.method == "HEAD" {
            try await writer.writeResponse(head)
        } else {
            try await writer.write(response: head, body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
        }
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
    fileprivate var channel: HTTP1Channel.Configuration {
        .init(
            idleTimeout: .init(self.idleTimeout),
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
        let own = [("content-type", self.contentType), ("content-length", String(self.body.count)), ("date", date)]
        for (name, value) in own + Answer.guards + self.fields {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return HTTPResponse(status: .init(code: self.status), headerFields: fields)
    }
}

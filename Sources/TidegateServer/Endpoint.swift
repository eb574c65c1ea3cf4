internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization
package import TidegateCore
package import TidegateIncidents
package import TidegateMetrics

/// Serves a monitor over HTTP: one server for each address, all on one thread.
package final class Endpoint: Sendable {
    private let configuration: EndpointConfiguration
    private let routes: EndpointRoutes
    private let bus: EventBus
    private let inFlight = Atomic<Int>(0)
    private let requests: RequestTable
    private let slots: EventStreamSlots
    private let access: AccessController?
    private let connectionLimit: @Sendable () -> Int

    /// An endpoint that reads `view`, and publishes every answered request on `bus`.
    ///
    /// Its events begin when it is made, or with those of a `history` that is already attached to the bus. Without an
    /// `access` policy, every client is answered over plain HTTP. The page shows what earlier processes kept in
    /// `storage`, and the next runs of scheduled tasks from `nextRuns`, by name. `probes` answers `/probe`.
    /// `scheduledProbes` returns the results of scheduled probes. `reload` reloads the configuration file. `incidents` records outages.
    /// `connectionLimit` returns the current limit of connections of each address; without it, the configuration's
    /// applies.
    package init(
        configuration: EndpointConfiguration, view: any MonitorView, bus: EventBus, recorder: MetricsRecorder,
        time: any TimeSource, history: EventHistory? = nil, access: (any AccessPolicyLoader)? = nil,
        storage: PageHistoryStorage? = nil, probes: (any ProbeService)? = nil,
        nextRuns: @escaping @Sendable () async -> [String: WallTime] = { [:] },
        scheduledProbes: @escaping @Sendable () async -> [ScheduledProbeReport] = { [] },
        reload: ConfigurationReload? = nil, incidents: (any IncidentRecord)? = nil,
        connectionLimit: (@Sendable () -> Int)? = nil
    ) {
        // Each run of the process has its own boot id.
        let own = EventHistory(boot: String(time.wall().microseconds, radix: 36), capacity: configuration.eventHistory)
        if history == nil { bus.attach(own) }
        let page = PageHistory(from: time.wall(), configuration: configuration, storage: storage)
        bus.attach(page)
        let slots = EventStreamSlots(limit: configuration.maxEventStreams)
        let access = access.map { AccessController($0, time: time) }
        self.configuration = configuration
        self.routes = EndpointRoutes(
            EndpointRoutes.Dependencies(
                configuration: configuration, view: view, bus: bus, recorder: recorder, time: time,
                history: history ?? own, page: page, nextRuns: nextRuns, probes: probes,
                scheduledProbes: scheduledProbes, reload: reload, incidents: incidents),
            slots: slots,
            middlewares: [StandardHeadersMiddleware(time: time), RequestCheckMiddleware()]
                + (access.map { [AccessMiddleware(controller: $0)] } ?? []))
        self.bus = bus
        self.slots = slots
        self.requests = RequestTable(limit: configuration.maxRequests)
        self.access = access
        self.connectionLimit = connectionLimit ?? { configuration.maxConnections }
    }

    /// The samples that a scrape would return now, for remote write.
    package func samples() -> [MetricSample] {
        self.routes.status.samples(inFlight: self.inFlight.load(ordering: .relaxed))
    }

    /// Metrics, probes and the newest events, as texts by file name, for a bug report.
    package func supportFiles() async -> [String: String] {
        await self.routes.status.supportFiles(inFlight: self.inFlight.load(ordering: .relaxed))
    }

    /// Serves until the Swift task is cancelled or a graceful shutdown begins; running responses are completed first.
    ///
    /// - Parameter whenListening: Called once when every address is bound. Receives the addresses in the order of the
    /// configuration, with the ports that the kernel chose.
    package func run(
        whenListening: @escaping @Sendable ([ListenAddress]) -> Void = { _ in }
    ) async throws(TextError) {
        self.access?.start()
        defer { self.access?.stop() }
        if let failure = await self.serveAll(whenListening: whenListening) { throw failure }
    }

    // The first server that fails stops the others: an endpoint on half of its addresses would look healthy.
    private func serveAll(whenListening: @escaping @Sendable ([ListenAddress]) -> Void) async -> TextError? {
        let count = self.configuration.listen.count
        let bound = Mutex([ListenAddress?](repeating: nil, count: count))
        let note: @Sendable (Int, ListenAddress) -> Void = { position, address in
            let known = bound.withLock { bound in
                bound[position] = address
                return bound.compactMap(\.self)
            }
            if known.count == count { whenListening(known) }
        }
        return await withTaskGroup(of: TextError?.self) { group in
            for (position, address) in self.configuration.listen.enumerated() {
                group.addTask {
                    await self.serve(address) { port in
                        note(position, ListenAddress(host: address.host, port: port ?? address.port))
                    }
                }
            }
            var first: TextError?
            for await failure in group {
                if first == nil, let failure { first = failure }
                if failure != nil { group.cancelAll() }
            }
            return first
        }
    }

    private func serve(
        _ address: ListenAddress, whenBound: @escaping @Sendable (Int?) -> Void
    ) async -> TextError? {
        let hosts = HostCheck(listen: address, allowed: self.configuration.allowedHosts)
        let listener = Listener(
            child: EndpointChannel(
                base: HTTP1Channel(
                    responder: { try await self.respond(to: $0, with: $1, on: $2, hosts: hosts) },
                    configuration: self.configuration.channel(slots: self.slots)),
                access: self.access, table: ConnectionRegistry(limit: self.connectionLimit),
                requestTimeout: self.configuration.requestTimeout),
            place: address.descriptor.map { .inherited($0) } ?? .address(address), backlog: 128)
        return await listener.run { whenBound($0.localAddress?.port) }.map { TextError($0, at: address) }
    }

    private func respond(
        to request: Request, with writer: consuming ResponseWriter, on channel: any Channel, hosts: HostCheck
    ) async throws {
        let count = self.inFlight.wrappingAdd(1, ordering: .relaxed).newValue
        let place = RequestPlace(self.requests, peer: PeerAddress(channel.remoteAddress))
        let context = ServerContext(source: .init(channel: channel, inFlight: count, hosts: hosts, place: place))
        let answer = await self.routes.respond(to: request, context: context)
        // A stream lasts long, so it has slots of its own.
        let isStream = answer?.response.isStream ?? false
        func finish() {
            place.release()
            self.inFlight.wrappingSubtract(1, ordering: .relaxed)
        }
        if isStream { finish() }
        defer { if !isStream { finish() } }
        guard let (response, handler) = answer else { return }
        self.bus.publish(.daemon(.requestAnswered(handler: handler.rawValue, status: response.status.code)))
        try await writer.write(
            response, to: request.method, on: channel, timeout: self.configuration.writeTimeout)
    }
}

/// The child channel of a connection.
///
/// It gives the connection a place, limits the time of its requests, and decrypts it if the access policy requires
/// that.
struct EndpointChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    /// Provides the policy; nil leaves every connection unencrypted.
    let access: AccessController?
    let table: ConnectionRegistry
    /// How long a request may take to arrive.
    let requestTimeout: Duration

    // Bytes that are read together are decoded together: 4 KiB hold at most about 150 requests.
    private static var readSize: Int { 4096 }
    // No request is larger, and unread bytes wait at the client.
    private static var receiveBuffer: Int { 16384 }

    // Set up synchronously: NIO drops a connection whose setup is still pending when its server stops.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        self.base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let options = channel.syncOptions
            try options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
            try options?.setOption(.maxMessagesPerRead, value: 1)
            try options?.setOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            let pipeline = channel.pipeline.syncOperations
            let connection = ConnectionHandler(self.table, limit: .init(self.requestTimeout))
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(RequestHandler(connection), position: .after(decoder))
            if let access = self.access { try pipeline.addHandler(TLSDetectionHandler(access), position: .first) }
            try pipeline.addHandler(connection, position: .first)
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await self.base.handle(value: value, logger: logger)
    }
}

extension EndpointConfiguration {
    // No scraper or browser sends more than 16 KiB of header fields.
    fileprivate func channel(slots: EventStreamSlots) -> HTTP1Channel.Configuration {
        .init(
            additionalChannelHandlers: [EventStreamEndHandler(slots: slots)], idleTimeout: .init(self.idleTimeout),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 100))
    }
}

extension TextError {
    fileprivate init(_ error: any Error, at address: ListenAddress) {
        guard !(error is SocketAddressError.FailedToParseIPByteBuffer) else {
            self.init(notToListenOn: address.description)
            return
        }
        let problem =
            switch error {
            case let error as IOError where error.errnoCode == EADDRINUSE: "the port is in use"
            case let error as IOError where error.errnoCode == EADDRNOTAVAIL: "this host does not have the address"
            case let error as IOError where error.errnoCode == EACCES: "the port needs a privilege"
            case SocketAddressError.unknown, is SocketAddressError.UnknownHost: "the host name has no address"
            default: "\(error)"
            }
        self.init("cannot listen on \(address): \(problem)")
    }
}

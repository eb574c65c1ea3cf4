internal import Glibc
internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization
package import TidegateCore

/// Answers commands on a Unix socket, and nowhere else.
package final class ControlServer: Sendable {
    private let place: ControlSocketPath
    private let router: ControlRouter
    private let peers: PeerVerification
    private let bus: EventBus
    private let time: any TimeSource

    /// A server at `path` that passes commands on to `control`; watchers hear the tasks' events of `bus`.
    package init(path: String, control: any TaskControl, bus: EventBus, time: any TimeSource) {
        self.place = ControlSocketPath(path: path)
        self.router = ControlRouter(control: control)
        self.peers = PeerVerification(ownUser: geteuid(), path: path)
        self.bus = bus
        self.time = time
    }

    /// Answers until the task is cancelled or a graceful shutdown begins.
    ///
    /// - Parameter whenListening: Called once, when the socket is there with its mode.
    package func run(whenListening: @escaping @Sendable () -> Void = {}) async throws(ControlError) {
        try self.place.clear()
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let failure = await self.serve(on: loops, whenListening: whenListening)
        do {
            try await loops.shutdownGracefully()
        } catch {
            throw failure ?? ControlError("the control socket \(self.place.path) failed: \(error)")
        }
        if let failure { throw failure }
    }

    private func serve(
        on loops: MultiThreadedEventLoopGroup, whenListening: @escaping @Sendable () -> Void
    ) async -> ControlError? {
        let silent = Logger(label: "control") { _ in SwiftLogNoOpLogHandler() }
        let (place, stop, opened) = (self.place, ServerStop(), Opened())
        defer { place.remove(opened.state.withLock { $0.identity }) }
        let server = Server(
            childChannelSetup: HTTP1Channel(
                responder: { try await self.respond(to: $0, with: $1, on: $2) },
                configuration: .init(idleTimeout: .seconds(30))),
            configuration: ServerConfiguration(
                address: .unixDomainSocket(path: place.path), backlog: 64,
                availableConnectionsDelegate: .maximum(128, logger: silent)),
            onServerRunning: { _ in
                // Until here the umask has kept others out, or the check of each peer does.
                do throws(ControlError) {
                    opened.state.withLock { $0.identity = place.identity }
                    try place.restrict()
                    whenListening()
                } catch {
                    opened.state.withLock { $0.error = error }
                    stop.end()
                }
                stop.noteListening()
            }, eventLoopGroup: loops, logger: silent)
        do {
            try await stop.run(server)
            return opened.state.withLock { $0.error }
        } catch is CancellationError {
            return opened.state.withLock { $0.error }
        } catch {
            return ControlError("cannot listen at the control socket \(self.place.path): \(error)")
        }
    }

    private func respond(
        to request: Request, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        let answer = await self.answer(to: request, on: channel)
        switch answer.body {
        case .object(let object):
            self.bus.publish(.daemon(.requestAnswered(handler: "control", status: answer.status)))
            let body = ByteBuffer(string: object.description + "\n")
            try await writer.write(response: answer.head(length: body.readableBytes), body: .init(byteBuffer: body))
        case .watch: try await self.watch(answer, with: writer, on: channel)
        }
    }

    private func answer(to request: Request, on channel: any Channel) async -> ControlAnswer {
        guard let peer = await ControlServer.peer(of: channel), self.peers.admits(peer) else {
            let words = "the control socket is for root, the daemon's own user and members of the socket's group"
            return ControlAnswer(status: 403, error: words)
        }
        do {
            let body = try await request.body.collect(upTo: ControlRouter.bodyLimit)
            return await self.router.answer(
                request.head.method.rawValue, request.head.path ?? "", body: Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            return ControlAnswer(status: 413, error: "the request's body is too large: give it as a file")
        } catch {
            return ControlAnswer(status: 400, error: "the request's body cannot be read")
        }
    }

    private static func peer(of channel: any Channel) async -> PeerVerification.Peer? {
        try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                PeerVerification.peer(of: $0)
            } ?? nil
        }.get()
    }

    // MARK: - Watching

    private func watch(
        _ answer: ControlAnswer, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        // Subscribed before the tasks are listed: a change in between is told twice, never missed.
        let events = self.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            switch event.payload {
            case .task, .daemon(.stopping): true
            case .path, .link, .netlink, .session, .daemon: false
            }
        }
        channel.closeFuture.whenComplete { _ in events.cancel() }
        let list = await self.router.answer("GET", "/api/v1/tasks", body: [])
        guard case .object(.object(let members)) = list.body else { return }
        var body = try await writer.writeHead(answer.head(length: nil))
        let snapshot = [JSONValue.Member("schema", 1), .init("event", "snapshot")] + members.dropFirst()
        try await body.write(ByteBuffer(string: "\(JSONValue.object(snapshot))\n"))
        var dropped: UInt64 = 0
        for await event in events {
            guard case .task(let task) = event.payload else { break }
            if events.dropped > dropped {
                let gap: JSONValue = [
                    "schema": 1, "event": "dropped", "count": .integer(Int64(events.dropped - dropped)),
                ]
                dropped = events.dropped
                try await body.write(ByteBuffer(string: "\(gap)\n"))
            }
            let line = task.json(sequence: event.sequence, time: event.time)
            try await body.write(ByteBuffer(string: "\(line)\n"))
        }
        try await body.finish(nil)
    }
}

/// What became of a socket that listens.
private final class Opened: Sendable {
    let state = Mutex(State())

    struct State {
        var identity: ControlSocketPath.Identity?
        /// Why it cannot be used.
        var error: ControlError?
    }
}

extension ControlAnswer {
    fileprivate func head(length: Int?) -> HTTPResponse {
        var fields = HTTPFields()
        fields[.contentType] = length == nil ? "application/x-ndjson" : "application/json; charset=utf-8"
        fields[.cacheControl] = "no-store"
        if let length { fields[.contentLength] = String(length) }
        for (name, value) in self.fields {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return HTTPResponse(status: .init(code: self.status), headerFields: fields)
    }
}

internal import Glibc
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import Synchronization
package import TidegateCore

/// Serves commands on a Unix socket only.
package final class ControlServer: Sendable {
    private let socket: ControlSocketPath
    private let descriptor: CInt?
    private let maxConnections: Int
    private let responder: RouterResponder<ServerContext>
    private let bus: EventBus

    // A command waits for the journal's disk, and its body may be large.
    private static let writeTimeout = Duration.seconds(30)

    /// The report of a daemon without targets and without a diagnosis.
    package static let emptyReport: JSONValue = ["schema": 1, "targets": [], "diagnosis": .null]

    /// A server at `path` that forwards commands to `control`.
    ///
    /// `descriptor` is the socket that listens there already; nil opens one. Watchers get the task events of `bus`. `report` returns the object with the configured targets and the latest
    /// diagnosis, `connections` what is known of other programs' connections, `incidents` gives access to outages, and `supportFiles` what a bug report needs.
    package init(
        path: String, descriptor: CInt? = nil, maxConnections: Int = 128, control: any TaskControl, bus: EventBus,
        time: any TimeSource,
        report: @escaping @Sendable () -> JSONValue = { ControlServer.emptyReport },
        connections: @escaping @Sendable () async -> ConnectionsReport = { ConnectionsReport() },
        incidents: IncidentRoutes? = nil,
        supportFiles: @escaping @Sendable () async -> [String: String] = { [:] }
    ) {
        self.socket = ControlSocketPath(path: path)
        self.descriptor = descriptor
        self.maxConnections = maxConnections
        self.responder = ControlRoutes(
            control: control, bus: bus, report: report, connections: connections,
            incidents: incidents, supportFiles: supportFiles
        ).responder(middlewares: [
            StandardHeadersMiddleware(time: time),
            PeerMiddleware(verification: PeerVerification(ownUser: geteuid(), path: path)),
        ])
        self.bus = bus
    }

    /// Serves until the Swift task is cancelled or a graceful shutdown begins.
    ///
    /// - Parameter whenListening: Called once when the socket exists and has its mode.
    package func run(whenListening: @escaping @Sendable () -> Void = {}) async throws(TextError) {
        // An inherited socket is the service manager's, with its mode.
        if self.descriptor == nil { try self.socket.prepare() }
        if let failure = await self.serve(whenListening: whenListening) { throw failure }
    }

    private func serve(whenListening: @escaping @Sendable () -> Void) async -> TextError? {
        let (socket, isOwn) = (self.socket, self.descriptor == nil)
        let identity = Mutex<ControlSocketPath.Identity?>(nil)
        defer { socket.remove(identity.withLock { $0 }) }
        let listener = Listener(
            child: HTTP1Channel(
                responder: { try await self.respond(to: $0, with: $1, on: $2) },
                configuration: .init(idleTimeout: .seconds(30))),
            place: self.descriptor.map { .inherited($0) } ?? .path(socket.path), backlog: 64,
            maxConnections: self.maxConnections)
        let failure = await listener.run { _ in
            // Until now, the umask or the check of each peer has kept other users out.
            if isOwn {
                identity.withLock { $0 = socket.identity }
                try socket.restrict()
            }
            whenListening()
        }
        return failure.map {
            $0 as? TextError ?? TextError("cannot listen on the control socket \(socket.path): \($0)")
        }
    }

    private func respond(
        to request: Request, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        guard channel.isActive else { return }
        let context = ServerContext(source: .init(channel: channel, inFlight: 1))
        let response = try await self.responder.respond(to: request, context: context)
        if !response.isStream {
            self.bus.publish(.daemon(.requestAnswered(handler: "control", status: response.status.code)))
        }
        try await writer.write(response, to: request.method, on: channel, timeout: Self.writeTimeout)
    }
}

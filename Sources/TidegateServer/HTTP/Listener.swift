internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization
internal import TidegateCore

/// Accepts connections in one place, and stops without dropping those that it has accepted.
///
/// Hummingbird's own server cannot take a socket that listens already. When it is cancelled, it releases accepted
/// connections that it has not set up yet, and NIO then ends the process.
struct Listener<Child: ServerChildChannel>: Sendable {
    let child: Child
    let place: ListenPlace
    /// How many connections may wait to be accepted (listen(2)); NIO's own number for an inherited socket.
    let backlog: Int
    /// The maximum number of connections; further ones wait, and nil accepts all.
    var maxConnections: Int?

    // How long accepted connections may go on once the Swift task is cancelled.
    private static var gracePeriod: Duration { .milliseconds(500) }
    // A response that ignores its cancellation is abandoned after that time.
    private static var abandonTime: Duration { .milliseconds(250) }

    /// Serves until the Swift task is cancelled or a graceful shutdown begins; returns the error that prevented it.
    ///
    /// - Parameter whenListening: Called with the listening channel before a connection is handled; an error stops the
    /// server.
    func run(whenListening: @escaping @Sendable (any Channel) throws -> Void) async -> (any Error)? {
        let quiescing = ServerQuiescingHelper(group: ServerLoops.group)
        let shutdown = Shutdown(quiescing)
        // Unstructured tasks, because they must not be cancelled together with this one.
        let opening = await Task { try await self.open(quiescing) }.result
        guard case .success(let listener) = opening else { return opening.failure }
        // Clients that have connected already are served.
        let refusal = Result { try whenListening(listener.channel) }.failure
        if refusal != nil { shutdown.begin() }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let serving = Task {
            await self.accept(from: listener)
            end.yield()
        }
        let ended = Task { _ = await ends.first { true } }
        await withGracefulShutdownHandler {
            await withTaskCancellationHandler {
                await ended.value
            } onCancel: {
                shutdown.begin()
                Task {
                    try? await ContinuousClock().sleep(for: Self.gracePeriod)
                    serving.cancel()
                    try? await ContinuousClock().sleep(for: Self.abandonTime)
                    end.yield()
                }
            }
        } onGracefulShutdown: {
            shutdown.begin()
        }
        return refusal ?? (shutdown.isBegun ? nil : TextError("it stopped accepting connections"))
    }

    /// Closes the listening channel, and distinguishes that from a channel that the kernel closed.
    private final class Shutdown: Sendable {
        private let quiescing: ServerQuiescingHelper
        private let begun = Atomic(false)

        init(_ quiescing: ServerQuiescingHelper) { self.quiescing = quiescing }

        var isBegun: Bool { self.begun.load(ordering: .acquiring) }

        func begin() {
            self.begun.store(true, ordering: .releasing)
            self.quiescing.initiateShutdown(promise: nil)
        }
    }

    private func accept(from listener: NIOAsyncChannel<Child.Value, Never>) async {
        await withDiscardingTaskGroup { group in
            try? await listener.executeThenClose { connections in
                for try await connection in connections {
                    group.addTask { await self.child.handle(value: connection, logger: ServerContext.silentLogger) }
                }
            }
        }
    }

    private func open(_ quiescing: ServerQuiescingHelper) async throws -> NIOAsyncChannel<Child.Value, Never> {
        let (child, limit) = (self.child, self.maxConnections)
        let bootstrap = ServerBootstrap(group: ServerLoops.group)
            .serverChannelOption(.backlog, value: .init(self.backlog))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let limit { try pipeline.addHandler(AvailableConnectionsChannelHandler(maxConnections: limit)) }
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                }
            }
        let setup = { @Sendable (channel: any Channel) in
            child.setup(channel: channel, logger: ServerContext.silentLogger)
        }
        switch self.place {
        case .address(let address):
            return try await bootstrap.bind(host: address.host, port: address.port, childChannelInitializer: setup)
        case .path(let path):
            return try await bootstrap.bind(
                unixDomainSocketPath: path, cleanupExistingSocketFile: true, childChannelInitializer: setup)
        case .inherited(let descriptor):
            return try await bootstrap.bind(descriptor, childChannelInitializer: setup)
        }
    }
}

/// Where a server accepts connections.
enum ListenPlace: Sendable, Hashable {
    case address(ListenAddress)
    /// The path of a Unix socket.
    case path(String)
    /// The descriptor of a socket that listens already.
    case inherited(CInt)
}

/// The event loops of all servers in a process.
package enum ServerLoops {
    /// NIO's own group, which lives as long as the process.
    ///
    /// A group that ends with its server would be shut down while an abandoned response still uses it, and NIO would
    /// then end the process.
    static var group: MultiThreadedEventLoopGroup { .singleton }

    /// Limits the group to a single thread, which is enough for scrapes; call it before the first server starts.
    package static func useOneThread() { NIOSingletons.groupLoopCountSuggestion = 1 }

    /// Returns once the server's thread has taken a turn.
    package static func takeTurn() async { try? await self.group.any().submit {}.get() }
}

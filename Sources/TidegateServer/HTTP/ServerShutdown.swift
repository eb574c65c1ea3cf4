internal import HummingbirdCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Stops a server without dropping accepted connections.
///
/// A cancelled Hummingbird server releases accepted connections that it has not set up yet, and NIO then ends the
/// process. Here, cancelling closes the listener first. Accepted connections are set up and may finish. Those left
/// after a grace period are cancelled, then abandoned.
final class ServerShutdown: Sendable {
    private let gracePeriod: Duration
    private let state = Mutex(State())

    private struct State {
        var isListening = false
        var isRequested = false
        var close: (@Sendable () -> Void)?

        // Closing a listener while it is being opened would drop it, so the close waits until it listens.
        var dueClose: (@Sendable () -> Void)? {
            mutating get {
                guard self.isListening, self.isRequested else { return nil }
                return self.close.take()
            }
        }
    }

    /// Stops one server; its accepted connections have `gracePeriod` to finish.
    init(gracePeriod: Duration = .milliseconds(500)) { self.gracePeriod = gracePeriod }

    /// Call this when the server listens.
    func didStartListening() { self.change { $0.isListening = true } }

    /// Stops the server.
    func begin() { self.change { $0.isRequested = true } }

    /// Runs the server until it ends or the Swift task is cancelled; returns its error, or nil.
    func run<Child: ServerChildChannel>(_ server: Server<Child>) async -> (any Error)? {
        // Unstructured tasks, because they must not be cancelled together with this one.
        let serving = Task { try await server.run() }
        let (results, result) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
        Task { result.yield(await serving.result) }
        let close: @Sendable () -> Void = {
            Task { try? await server.shutdownGracefully() }
            Task {
                try? await ContinuousClock().sleep(for: self.gracePeriod)
                serving.cancel()
                // A response that ignores its cancellation is abandoned.
                try? await ContinuousClock().sleep(for: .milliseconds(250))
                result.yield(.failure(CancellationError()))
            }
        }
        self.change { $0.close = close }
        let first = Task { await results.first { _ in true } }
        let end = await withTaskCancellationHandler {
            await first.value
        } onCancel: {
            self.begin()
        }
        guard case .failure(let error)? = end, !(error is CancellationError) else { return nil }
        return error
    }

    private func change(_ body: (inout State) -> Void) {
        let close = self.state.withLock { state in
            body(&state)
            return state.dueClose
        }
        close?()
    }
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

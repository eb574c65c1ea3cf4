internal import HummingbirdCore
internal import Synchronization

/// Ends a server without dropping a connection that it has accepted.
///
/// A server whose Swift task is cancelled lets go of accepted connections that it has not taken up yet, and NIO ends
/// the process for that. Here cancelling closes the listener first; what was accepted is taken up and may end by
/// itself, and only what is still there after a while is cancelled, then left.
final class ServerStop: Sendable {
    private let patience: Duration
    private let state = Mutex(State())

    private struct State {
        var isListening = false
        var isAsked = false
        var close: (@Sendable () -> Void)?

        // A listener that is only about to open is waited for: closing it half open would drop it.
        var due: (@Sendable () -> Void)? {
            mutating get {
                guard self.isListening, self.isAsked else { return nil }
                return self.close.take()
            }
        }
    }

    /// A way to end one server; what was accepted has `patience` to end by itself.
    init(patience: Duration = .milliseconds(500)) { self.patience = patience }

    /// The server listens; to be called by what hears that it runs.
    func noteListening() {
        let close = self.state.withLock { state in
            state.isListening = true
            return state.due
        }
        close?()
    }

    /// Ends the server.
    func end() {
        let close = self.state.withLock { state in
            state.isAsked = true
            return state.due
        }
        close?()
    }

    /// Runs the server until it ends, or until the Swift task is cancelled.
    func run<Child: ServerChildChannel>(_ server: Server<Child>) async throws {
        // Tasks of their own, which are not cancelled with this one.
        let serving = Task { try await server.run() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let once = FirstResult(continuation)
                Task { once.tell(await serving.result) }
                self.arm {
                    Task { try? await server.shutdownGracefully() }
                    Task {
                        try? await ContinuousClock().sleep(for: self.patience)
                        serving.cancel()
                        // An answer that hears of nothing is not waited for.
                        try? await ContinuousClock().sleep(for: .milliseconds(250))
                        once.tell(.failure(CancellationError()))
                    }
                }
            }
        } onCancel: {
            self.end()
        }
    }

    private func arm(_ close: @escaping @Sendable () -> Void) {
        let due = self.state.withLock { state in
            state.close = close
            return state.due
        }
        due?()
    }
}

/// Resumes a continuation with the first of several results.
private final class FirstResult: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, any Error>?>

    init(_ continuation: CheckedContinuation<Void, any Error>) { self.continuation = Mutex(continuation) }

    func tell(_ result: Result<Void, any Error>) {
        self.continuation.withLock { $0.take() }?.resume(with: result)
    }
}

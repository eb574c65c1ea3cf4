internal import Synchronization
internal import TidegateLoop

/// The way to the writer's thread, as long as there is one.
final class WriterLine: Sendable {
    private let thread = Mutex<LoopThread<RemoteWriteWorker>?>(nil)

    func connect(_ thread: LoopThread<RemoteWriteWorker>) { self.thread.withLock { $0 = thread } }

    /// False once the thread is gone, and then nothing happens.
    @discardableResult
    func send(_ command: RemoteWriteWorker.Command) -> Bool {
        let thread = self.thread.withLock { $0 }
        return thread?.send(command) ?? false
    }

    /// Hangs up and gives the thread to whoever is to end it.
    func disconnect() -> LoopThread<RemoteWriteWorker>? { self.thread.withLock { $0.take() } }
}

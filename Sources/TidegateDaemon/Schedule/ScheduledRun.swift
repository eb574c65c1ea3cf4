internal import Logging
internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// Carries out turns of scheduled tasks with a session.
final class ScheduledRun: Sendable {
    private let session: Session
    private let logger: Logger
    private let transfers: Mutex<Configuration.Transfers>

    init(session: Session, transfers: Configuration.Transfers, logger: Logger) {
        self.session = session
        self.logger = logger
        self.transfers = Mutex(transfers)
    }

    /// Takes retry and gate from here on the next turns.
    func use(_ transfers: Configuration.Transfers) { self.transfers.withLock { $0 = transfers } }

    /// One turn of a task, to its end; a cancelled turn keeps what a later one can continue.
    func run(_ task: ScheduledTask) async {
        let request: TaskRequest
        do {
            request = try task.request(under: self.transfers.withLock { $0 })
        } catch {
            self.logger.error("turn failed before it began", metadata: ["name": "\(task.name)", "error": "\(error)"])
            return
        }
        let handle = self.session.makeTask(request)
        handle.resume()
        await withTaskCancellationHandler {
            _ = await handle.result()
        } onCancel: {
            handle.cancel()
        }
    }
}

internal import Logging
internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// Performs runs of scheduled tasks in a session.
final class ScheduledTaskRunner: Sendable {
    private let session: Session
    private let logger: Logger
    private let transfers: Mutex<Configuration.Transfers>

    init(session: Session, transfers: Configuration.Transfers, logger: Logger) {
        self.session = session
        self.logger = logger
        self.transfers = Mutex(transfers)
    }

    /// Sets the retry policy and the gate of later runs.
    func update(_ transfers: Configuration.Transfers) { self.transfers.withLock { $0 = transfers } }

    /// One run, to its end; a cancelled download keeps its partial file, which a later run resumes.
    func run(_ task: ScheduledTask) async {
        let request: TaskRequest
        do {
            request = try task.request(under: self.transfers.withLock { $0 })
        } catch {
            self.logger.error(
                "scheduled run could not start", metadata: ["name": "\(task.name)", "error": "\(error)"])
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

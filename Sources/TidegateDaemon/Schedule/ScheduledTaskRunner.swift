internal import Logging
internal import Tidegate
internal import TidegateCore

/// Performs runs of scheduled tasks in a session.
final class ScheduledTaskRunner: Sendable {
    private let session: Session
    private let logger: Logger
    private let policies: TransferPolicies

    init(session: Session, policies: TransferPolicies, logger: Logger) {
        self.session = session
        self.logger = logger
        self.policies = policies
    }

    /// One run, to its end; a cancelled download keeps its partial file, which a later run resumes.
    func run(_ task: ScheduledTask) async {
        let request: TaskRequest
        do {
            request = try task.request(under: self.policies.transfers)
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

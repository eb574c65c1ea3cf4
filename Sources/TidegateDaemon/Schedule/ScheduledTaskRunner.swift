internal import Logging
internal import Tidegate
internal import TidegateCore

/// Performs runs of scheduled tasks in a session.
struct ScheduledTaskRunner: Sendable {
    let session: Session
    let policies: TransferPolicies
    let logger: Logger

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

internal import TidegateCore

/// The policies of a request, completed by its session's: made once, and read by every task of that request.
///
/// Kept in each task they would be a fifth of it.
final class ResolvedPolicies: Sendable {
    let gate: GatePolicy
    let retry: RetryPolicy
    let limits: TaskClocks.Limits

    init(_ request: TaskRequest, gate: GatePolicy, retry: RetryPolicy) {
        self.gate = request.gate ?? gate
        self.retry = request.retry ?? retry
        self.limits = TaskClocks.Limits(
            idle: request.idleTimeout, attempt: request.attemptTimeout, deadline: request.deadline,
            patience: self.gate.patience)
    }
}

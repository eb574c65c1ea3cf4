internal import TidegateCore

/// The policies of a request, completed by its session's: made once, and read by every task of that request.
///
/// Kept in each task they would be a fifth of it.
final class ResolvedPolicies: Sendable {
    let gate: GatePolicy
    let retry: RetryPolicy
    let redirects: RedirectPolicy
    let tls: ServerTrustPolicy
    let proxy: ProxyPolicy
    let limits: Indirect<TaskClocks.Limits>
    /// True if tasks wait rather than fail when something of this host's is used up.
    let waitsOut: Bool

    init(_ request: TaskRequest, _ configuration: SessionConfiguration) {
        self.gate = request.options.gate ?? configuration.gate
        self.retry = request.options.retry ?? configuration.retry
        self.redirects = request.options.redirects ?? configuration.redirects
        self.tls = request.options.tls ?? configuration.tls
        self.proxy = request.options.proxy ?? configuration.proxy
        self.waitsOut = configuration.waitsOut
        self.limits = Indirect(
            TaskClocks.Limits(
                idle: request.options.idleTimeout, attempt: request.options.attemptTimeout,
                deadline: request.options.deadline, patience: self.gate.patience))
    }
}

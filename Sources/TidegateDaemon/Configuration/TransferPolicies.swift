internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// What the configuration file says now about tasks that say nothing of it themselves.
final class TransferPolicies: Sendable {
    private let started: Configuration.Transfers
    private let current: Mutex<Configuration.Transfers>

    /// What the file said when the session was made.
    init(_ transfers: Configuration.Transfers) {
        self.started = transfers
        self.current = Mutex(transfers)
    }

    /// What the file says.
    var transfers: Configuration.Transfers { self.current.withLock { $0 } }

    /// Sets the retry policy and the gate of later tasks.
    func update(_ transfers: Configuration.Transfers) { self.current.withLock { $0 = transfers } }

    /// Gives a request what a reload has changed: the session has what the file said at the start.
    func apply(to request: inout TaskRequest) {
        let transfers = self.transfers
        if request.retry == nil, transfers.retry != self.started.retry { request.retry = transfers.retry.policy() }
        let (gate, former) = (transfers.session.gate, self.started.session.gate)
        if request.gate == nil, gate != former { request.gate = gate }
    }
}

package import TidegateCore

extension TransferEngine {
    /// Ends an attempt where it is: it will be reported as finished, with what has come so far.
    ///
    /// Ignored where it is over.
    package func end(_ id: AttemptID, as failure: TaskFailure, _ text: String) {
        guard let slot = self.slots[id] else { return }
        slot.fail(failure, text)
        slot.note(.broken)
    }

    /// The try to connect of a running attempt that has come furthest so far; nil where it is connected or over.
    package func failedConnect(of id: AttemptID) -> DialEnd? {
        guard let slot = self.slots[id], !slot.dials.isConnected, slot.wire.tries == 0 else { return nil }
        slot.epoch?.log.dials.settle(slot)
        return slot.dials.best
    }

    /// Whether a running attempt has a TCP connection.
    package func isConnected(_ id: AttemptID) -> Bool {
        self.slots[id].map { $0.dials.isConnected || $0.wire.tries > 0 } ?? false
    }
}

internal import TidegateCore
internal import TidegateNetwork

extension NetlinkClient {
    // Not every change is reported by an event; the others are found by evaluating periodically.
    private static let periodicInterval = Duration.seconds(12)
    private static let stormInterval = Duration.milliseconds(500)

    /// True while the kernel can be read.
    var isConnected: Bool { if case .connected = self.state { true } else { false } }

    /// True while route messages are left out because there are too many.
    var isStorm: Bool { self.state == .connected(.storm) }

    /// Why the kernel cannot be read.
    var unavailableReason: String {
        if case .unavailable(let text) = self.state { text } else { "the kernel has not been read yet" }
    }

    /// When to evaluate again without an event; nil if there will be a reason before, or none at all.
    var nextPeriodicEvaluation: MonotonicTime? {
        switch self.state {
        case .connected(.once), .unavailable, .starting: nil
        case .connected(.storm): self.now + NetlinkClient.stormInterval
        case .connected(.event), .connected(.poll): self.now + NetlinkClient.periodicInterval
        }
    }
}

extension NetlinkEvent {
    /// True if everything was dumped because the machine has slept.
    var isResumption: Bool { if case .resynced(.resume, _) = self { true } else { false } }

    var changesHealth: Bool {
        switch self {
        case .overrun, .dumpInterrupted, .resynced, .receiveBuffer: true
        case .received, .malformed, .lookedUp, .modeChanged, .lost: false
        }
    }
}

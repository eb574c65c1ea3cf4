internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// Knows which of the daemon's files are bad, and tells the bus what became of each.
final class ReloadStatus: Sendable {
    /// A file that is read again.
    enum File: Sendable, Hashable {
        case configuration, web
    }

    private let bus: EventBus
    private let bad = Mutex<Set<File>>([])

    /// A ledger of files that were good when the daemon started.
    init(bus: EventBus) { self.bus = bus }

    /// A file was read again.
    ///
    /// Where the other one is still bad, that is told again after a good one: the last word is about both.
    func note(_ file: File, isGood: Bool) {
        let isAllGood = self.bad.withLock { bad in
            if isGood { bad.remove(file) } else { bad.insert(file) }
            return bad.isEmpty
        }
        self.bus.publish(.daemon(.configurationLoaded(isGood: isGood)))
        if isGood, !isAllGood { self.bus.publish(.daemon(.configurationLoaded(isGood: false))) }
    }
}

internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// The state of the configuration files after reloads; publishes the result of each.
final class ReloadStatus: Sendable {
    /// A file that is reloaded.
    enum File: Sendable, Hashable {
        case configuration, web
    }

    private let bus: EventBus
    private let invalid = Mutex<Set<File>>([])

    /// Files are valid at the start.
    init(bus: EventBus) { self.bus = bus }

    /// Records the result of a reload.
    ///
    /// If the other file is still invalid, a success is followed by another failure event: the last event, which the
    /// metric shows, is about both files.
    func record(_ file: File, isGood: Bool) {
        let isAllGood = self.invalid.withLock { invalid in
            if isGood { invalid.remove(file) } else { invalid.insert(file) }
            return invalid.isEmpty
        }
        self.bus.publish(.daemon(.configurationLoaded(isGood: isGood)))
        if isGood, !isAllGood { self.bus.publish(.daemon(.configurationLoaded(isGood: false))) }
    }
}

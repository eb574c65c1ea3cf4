internal import Synchronization
internal import TidegateCore

/// Failed tasks whose party may still be revised: they are counted once that is settled.
final class UnsettledFailures: Sendable {
    struct Entry: Sendable {
        var task: TaskID
        var failure: TaskFailure
        var party: FaultParty
        var source: Exemplar.Source
        var moment: MonotonicTime
    }

    /// How long a party may be revised.
    static let lifetime = Duration.seconds(30)
    // More than this at once are counted as they are.
    private static let capacity = 4_096

    // In the order of their failures.
    private let entries = Mutex<[Entry]>([])

    /// Keeps an entry back; false if there are too many.
    func add(_ entry: Entry) -> Bool {
        self.entries.withLock { entries in
            guard entries.count < UnsettledFailures.capacity else { return false }
            entries.append(entry)
            return true
        }
    }

    /// Takes out the entry of a task; nil if there is none.
    func take(_ task: TaskID) -> Entry? {
        self.entries.withLock { entries in
            entries.firstIndex { $0.task == task }.map { entries.remove(at: $0) }
        }
    }

    /// Takes out what is settled at a moment; everything if it is nil.
    func take(settledAt now: MonotonicTime?) -> [Entry] {
        self.entries.withLock { entries in
            guard let now else {
                defer { entries = [] }
                return entries
            }
            let old = entries.prefix { now - $0.moment > UnsettledFailures.lifetime }
            entries.removeFirst(old.count)
            return Array(old)
        }
    }
}

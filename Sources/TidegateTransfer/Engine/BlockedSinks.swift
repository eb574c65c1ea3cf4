internal import TidegateLoop

/// Attempts whose sink is a descriptor that takes nothing at the moment.
struct BlockedSinks {
    private var waiting: [Int32: [Int]] = [:]

    /// Watches a descriptor for a slot.
    mutating func add(_ descriptor: Int32, slot: Int, on loop: Loop) throws(LoopError) {
        if self.waiting[descriptor] == nil { try loop.watch(descriptor, for: .write) }
        self.waiting[descriptor, default: []].append(slot)
    }

    /// Forgets a slot, and its descriptor where nobody else waits: the number may mean another file soon.
    mutating func drop(_ slot: Int, from descriptor: Int32, on loop: Loop) {
        guard self.waiting[descriptor]?.contains(slot) == true else { return }
        self.waiting[descriptor]?.removeAll { $0 == slot }
        if self.waiting[descriptor]?.isEmpty == true { _ = self.take(descriptor, on: loop) }
    }

    /// The slots that waited for a descriptor; nil where it is no blocked sink.
    mutating func take(_ descriptor: Int32, on loop: Loop) -> [Int]? {
        guard !self.waiting.isEmpty, let slots = self.waiting.removeValue(forKey: descriptor) else { return nil }
        do throws(LoopError) {
            try loop.unwatch(descriptor)
        } catch {
            // Whoever closed it has unwatched it; the next write will say so.
        }
        return slots
    }
}

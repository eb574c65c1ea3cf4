internal import TidegateLoop

/// Transfers whose sink is a descriptor that takes nothing at the moment.
struct BlockedDescriptors {
    private var waiting: [Int32: [Int]] = [:]

    /// Watches a descriptor for a transfer.
    mutating func add(_ descriptor: Int32, transfer: Int, on loop: Loop) throws(LoopError) {
        if self.waiting[descriptor] == nil { try loop.watch(descriptor, for: .write) }
        self.waiting[descriptor, default: []].append(transfer)
    }

    /// Forgets a transfer, and its descriptor if no other one waits: the number may soon be another file's.
    mutating func drop(_ transfer: Int, from descriptor: Int32, on loop: Loop) {
        guard self.waiting[descriptor]?.contains(transfer) == true else { return }
        self.waiting[descriptor]?.removeAll { $0 == transfer }
        if self.waiting[descriptor]?.isEmpty == true { _ = self.take(descriptor, on: loop) }
    }

    /// The transfers that waited for a descriptor; nil if it is no blocked sink.
    mutating func take(_ descriptor: Int32, on loop: Loop) -> [Int]? {
        guard !self.waiting.isEmpty, let transfers = self.waiting.removeValue(forKey: descriptor) else { return nil }
        do throws(LoopError) {
            try loop.unwatch(descriptor)
        } catch {
            // It was closed, and so unwatched; the next write will fail.
        }
        return transfers
    }
}

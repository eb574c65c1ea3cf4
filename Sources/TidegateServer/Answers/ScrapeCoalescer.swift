internal import Synchronization
internal import TidegateMetrics

/// Makes one exposition for all who ask for the same while it is being made.
final class ScrapeCoalescer: Sendable {
    /// What has to be the same to share an exposition.
    struct Order: Hashable {
        let format: ExpositionFormat
        let names: [String]
        let isCompressed: Bool
    }

    private let waiting = Mutex<[Order: [CheckedContinuation<[UInt8], Never>]]>([:])

    /// The exposition that `make` gives, made here or by whoever asked a moment earlier.
    func exposition(_ order: Order, make: () -> [UInt8]) async -> [UInt8] {
        guard !self.begins(order) else { return self.finish(order, make()) }
        let shared: [UInt8]? = await self.wait(for: order)
        // It was finished between the two looks: then a new one is due.
        return shared ?? self.finish(order, make())
    }

    /// True for who has to make it, and everybody else waits for; a call of ``finish(_:_:)`` has to follow.
    func begins(_ order: Order) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[order] == nil else { return false }
            waiting[order] = []
            return true
        }
    }

    /// How many wait for somebody else's exposition now.
    func waitingCount(for order: Order) -> Int { self.waiting.withLock { $0[order]?.count ?? 0 } }

    private func wait(for order: Order) async -> [UInt8]? {
        let body = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8], Never>) in
            let isLate = self.waiting.withLock { waiting in
                guard waiting[order] != nil else { return true }
                waiting[order]?.append(continuation)
                return false
            }
            if isLate { continuation.resume(returning: []) }
        }
        return body.isEmpty ? nil : body
    }

    /// Hands over what was made to all who wait, and back.
    func finish(_ order: Order, _ body: [UInt8]) -> [UInt8] {
        let others = self.waiting.withLock { $0.removeValue(forKey: order) } ?? []
        for other in others { other.resume(returning: body) }
        return body
    }
}

internal import Synchronization

/// Makes one body for all requests that ask for the same while it is being made.
final class ResponseCoalescer<Key: Hashable & Sendable>: Sendable {
    private let waiting = Mutex<[Key: [CheckedContinuation<[UInt8], Never>]]>([:])

    /// The body that `make` returns, called here or by a request that began a moment earlier.
    func body(_ key: Key, make: () -> [UInt8]) async -> [UInt8] {
        guard !self.begin(key) else { return self.finish(key, make()) }
        let shared: [UInt8]? = await self.wait(for: key)
        // The other request may have finished in between: then a new body is due.
        return shared ?? self.finish(key, make())
    }

    /// True if the caller has to make the body and then call ``finish(_:_:)``; other requests wait until then.
    func begin(_ key: Key) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[key] == nil else { return false }
            waiting[key] = []
            return true
        }
    }

    /// How many requests wait for another's body now.
    func waitingCount(for key: Key) -> Int { self.waiting.withLock { $0[key]?.count ?? 0 } }

    private func wait(for key: Key) async -> [UInt8]? {
        let body = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8], Never>) in
            let isLate = self.waiting.withLock { waiting in
                guard waiting[key] != nil else { return true }
                waiting[key]?.append(continuation)
                return false
            }
            if isLate { continuation.resume(returning: []) }
        }
        return body.isEmpty ? nil : body
    }

    /// Passes the body to every waiting request, and returns it.
    func finish(_ key: Key, _ body: [UInt8]) -> [UInt8] {
        let waiting = self.waiting.withLock { $0.removeValue(forKey: key) } ?? []
        for continuation in waiting { continuation.resume(returning: body) }
        return body
    }
}

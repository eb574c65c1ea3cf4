internal import Synchronization

/// Makes one body for all concurrent requests with the same key.
final class ResponseCoalescer<Key: Hashable & Sendable>: Sendable {
    private let waiting = Mutex<[Key: [CheckedContinuation<[UInt8], Never>]]>([:])

    /// The body from `make`, called here or by a request that began slightly earlier.
    func body(_ key: Key, make: () async -> [UInt8]) async -> [UInt8] {
        guard !self.begin(key) else { return self.finish(key, await make()) }
        let shared: [UInt8]? = await self.wait(for: key)
        // If the other request has finished in between, a new body is made.
        guard let shared else { return await self.body(key, make: make) }
        return shared
    }

    /// True if the caller must make the body and then call ``finish(_:_:)``; other requests wait until then.
    func begin(_ key: Key) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[key] == nil else { return false }
            waiting[key] = []
            return true
        }
    }

    /// The number of requests that wait for another's body.
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

    /// Passes the body to all waiting requests, and returns it.
    func finish(_ key: Key, _ body: [UInt8]) -> [UInt8] {
        let waiting = self.waiting.withLock { $0.removeValue(forKey: key) } ?? []
        for continuation in waiting { continuation.resume(returning: body) }
        return body
    }
}

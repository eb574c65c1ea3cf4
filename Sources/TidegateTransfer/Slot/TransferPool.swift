internal import CCurl
internal import TidegateLoop

/// Every slot, for as long as the thread lives; free ones are used again, the last one first.
struct TransferPool {
    private var slots: [CurlTransfer] = []
    private var free: [Int] = []
    private var byAttempt: [AttemptID: Int] = [:]

    subscript(number: Int) -> CurlTransfer? { self.slots.indices.contains(number) ? self.slots[number] : nil }

    subscript(id: AttemptID) -> CurlTransfer? { self.byAttempt[id].map { self.slots[$0] } }

    /// The slots with an attempt.
    var busy: [CurlTransfer] { self.slots.filter { $0.request != nil } }

    /// A free slot for an attempt.
    mutating func take(for id: AttemptID, outbox: Outbox, time: SystemClock) throws(CurlError) -> CurlTransfer {
        guard self.byAttempt[id] == nil else {
            throw CurlError(
                operation: "start", code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), text: "the attempt is running")
        }
        let slot: CurlTransfer
        if let number = self.free.popLast() {
            slot = self.slots[number]
        } else {
            slot = try CurlTransfer(number: self.slots.count, outbox: outbox, time: time)
            self.slots.append(slot)
        }
        self.byAttempt[id] = slot.number
        return slot
    }

    /// Gives a slot back; libcurl must not be using it any more.
    mutating func release(_ slot: CurlTransfer, of id: AttemptID) {
        guard self.byAttempt.removeValue(forKey: id) != nil else { return }
        slot.clear()
        self.free.append(slot.number)
    }
}

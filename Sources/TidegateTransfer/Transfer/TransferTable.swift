internal import CCurl
internal import TidegateCore
internal import TidegateLoop

/// Every transfer, for as long as the thread lives; free ones are used again, the last one first.
struct TransferTable {
    private var all: [CurlTransfer] = []
    private var free: [Int] = []
    private var byAttempt = IntegerMap<CurlTransfer>()

    subscript(number: Int) -> CurlTransfer? { self.all.indices.contains(number) ? self.all[number] : nil }

    subscript(id: AttemptID) -> CurlTransfer? { self.byAttempt[id.rawValue] }

    /// The transfers with an attempt.
    var busy: [CurlTransfer] { self.all.filter { $0.request != nil } }

    /// A free transfer for an attempt.
    mutating func take(for id: AttemptID, queue: ReportQueue, clock: SystemClock) throws(CurlError) -> CurlTransfer {
        guard self.byAttempt[id.rawValue] == nil else {
            throw CurlError(
                operation: "start", code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), text: "the attempt is running")
        }
        let transfer: CurlTransfer
        if let number = self.free.popLast() {
            transfer = self.all[number]
        } else {
            transfer = try CurlTransfer(number: self.all.count, queue: queue, clock: clock)
            self.all.append(transfer)
        }
        self.byAttempt[id.rawValue] = transfer
        return transfer
    }

    /// Returns a transfer; libcurl must not be using it any more.
    mutating func release(_ transfer: CurlTransfer, of id: AttemptID) {
        guard self.byAttempt.removeValue(forKey: id.rawValue) != nil else { return }
        transfer.clear()
        self.free.append(transfer.number)
    }
}

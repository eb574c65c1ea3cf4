internal import TidegateLoop
internal import TidegateCore

// Progress is told when bytes move, and no more than ten times a second. What could not be told for that reason is told
// when it may be, so that nobody else needs a timer to see the end of a burst.
extension TransferEngine {
    private static let interval = Duration.milliseconds(100)

    /// What to tell of a slot whose bytes have moved, or are looked at again; nil for nothing now.
    func news(of slot: CurlTransfer) -> AttemptProgress? {
        guard self.now - slot.stamps.lastProgress >= TransferEngine.interval else {
            self.untold.append(slot.number)
            return nil
        }
        let progress = slot.progress()
        let bytes = progress.receivedWire + progress.received + progress.sent
        guard bytes != slot.toldBytes else { return nil }
        slot.toldBytes = bytes
        slot.stamps.lastProgress = self.now
        // libcurl sends what it has taken by and by, without a word.
        if progress.sent > 0, !slot.head.isComplete { self.untold.append(slot.number) }
        return progress
    }

    /// Sets a timer for the slots that have something to tell, but not yet.
    ///
    /// The last thing in a batch, because most of those attempts are over by then.
    func waitToTell() {
        for number in self.untold {
            guard let slot = self.slots[number], slot.request != nil, !slot.waitsToTell else { continue }
            slot.waitsToTell = true
            let due = slot.stamps.lastProgress + TransferEngine.interval
            _ = self.loop.schedule(at: due, token: EngineTimer.progress(slot: number).token)
        }
        self.untold.removeAll(keepingCapacity: true)
    }
}

extension CurlTransfer {
    /// Has the engine look whether there is something to tell.
    func lookAtProgress() {
        self.waitsToTell = false
        if self.request != nil { self.note(.untold) }
    }
}

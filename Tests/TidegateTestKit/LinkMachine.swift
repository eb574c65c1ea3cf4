package import TidegateCore

/// Decides the fate of each frame of one direction of a link: a drop-tail queue, the rate, loss, then the delay.
package struct LinkMachine: Sendable {
    /// What happens to a frame.
    package enum Fate: Sendable, Hashable {
        /// The frame reaches the other end at this moment.
        case arrives(at: MonotonicTime)
        /// The frame is lost on the way.
        case lost
        /// The queue has no room for the frame.
        case overflowed
    }

    private struct Waiting {
        let departure: MonotonicTime
        let bytes: Int
    }

    private var random: SeededGenerator
    // The frames that have not left yet, oldest first.
    private var queue: [Waiting] = []
    private var queuedBytes = 0
    private var lastDeparture = MonotonicTime(nanoseconds: 0)
    private var lastArrival = MonotonicTime(nanoseconds: 0)

    /// A direction that has carried nothing yet.
    package init(_ random: SeededGenerator) { self.random = random }

    /// Decides the fate of a frame that enters the link at `now`.
    ///
    /// Frames that wait for the rate keep their moments when the shape changes.
    package mutating func pass(
        bytes: Int, isARP: Bool, at now: MonotonicTime, through shape: LinkShape
    ) -> Fate {
        // ARP is never lost, and never later than the delay: loss must not break the resolution of neighbours, which
        // the kernel would repeat only after a second.
        if isARP { return .arrives(at: now + shape.delay) }
        // Always all three, so that the same seed loses the same frames whatever the other settings are.
        let (loss, reordering, jitter) = (self.random.fraction(), self.random.fraction(), self.random.fraction())
        guard let departure = self.departure(of: bytes, at: now, through: shape) else { return .overflowed }
        // Loss comes after the rate: a lost frame has used the line.
        if loss < shape.loss { return .lost }
        if reordering < shape.reordering { return .arrives(at: departure) }
        self.lastArrival = max(self.lastArrival, departure + shape.delay + shape.jitter * jitter)
        return .arrives(at: self.lastArrival)
    }

    /// When the last bit of a frame has been sent; nil if the queue is full.
    private mutating func departure(of bytes: Int, at now: MonotonicTime, through shape: LinkShape) -> MonotonicTime? {
        let left = self.queue.prefix { $0.departure <= now }
        self.queuedBytes -= left.reduce(0) { $0 + $1.bytes }
        self.queue.removeFirst(left.count)
        let start = max(now, self.lastDeparture)
        guard let rate = shape.bitsPerSecond else {
            self.lastDeparture = start
            return start
        }
        guard self.queuedBytes + bytes <= shape.queueBytes else { return nil }
        let departure = start + .nanoseconds(Int64(bytes) * 8_000_000_000 / Int64(max(1, rate)))
        self.queue.append(Waiting(departure: departure, bytes: bytes))
        self.queuedBytes += bytes
        self.lastDeparture = departure
        return departure
    }
}

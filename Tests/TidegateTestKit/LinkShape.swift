/// How one direction of an emulated link treats frames; the default is a perfect cable.
package struct LinkShape: Sendable, Hashable {
    /// How long a frame is on its way.
    package var delay: Duration
    /// The upper bound of a delay that is added to each frame, with equal probability from zero up.
    ///
    /// Frames keep their order: only ``reordering`` changes it.
    package var jitter: Duration
    /// The probability that a frame is lost, from 0 to 1.
    package var loss: Double
    /// The probability that a frame skips the delay and the jitter, and so overtakes others, from 0 to 1.
    package var reordering: Double
    /// The bits of whole Ethernet frames that can be sent in a second; nil if the rate is unlimited.
    package var bitsPerSecond: Int?
    /// How many bytes may wait for the rate; a frame that does not fit in is dropped.
    package var queueBytes: Int

    /// A shape; omitted values have no effect.
    package init(
        delay: Duration = .zero, jitter: Duration = .zero, loss: Double = 0, reordering: Double = 0,
        bitsPerSecond: Int? = nil, queueBytes: Int = 250_000
    ) {
        self.delay = delay
        self.jitter = jitter
        self.loss = loss
        self.reordering = reordering
        self.bitsPerSecond = bitsPerSecond
        self.queueBytes = queueBytes
    }
}

/// How many frames of one direction arrived or were dropped, ARP included.
package struct LinkCounts: Sendable, Hashable {
    /// Frames that reached the other end.
    package var carried = 0
    /// Frames dropped by ``LinkShape/loss``.
    package var lost = 0
    /// Frames dropped because the queue was full.
    package var overflowed = 0
    /// The longest time between the due arrival of a frame and its arrival: the error of the emulator.
    package var lateness = Duration.zero
}

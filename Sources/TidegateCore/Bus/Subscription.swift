/// A bounded subscription to a bus, read by one task: `for await event in subscription`.
///
/// It ends when it is cancelled, when the reading task is cancelled, or when it is released.
public final class Subscription: AsyncSequence, Sendable {
    private let ring: EventRing
    private let onEnd: @Sendable () -> Void

    init(ring: EventRing, onEnd: @escaping @Sendable () -> Void) {
        self.ring = ring
        self.onEnd = onEnd
    }

    deinit { self.cancel() }

    /// Ends the subscription; the events kept so far can still be read.
    public func cancel() {
        self.ring.end()
        self.onEnd()
    }

    /// How many events were dropped for newer ones.
    public var dropped: UInt64 { self.ring.statistics.dropped }

    /// Takes the events that wait for a reader, without waiting for more.
    package func takeWaiting() -> [Event] { self.ring.takeWaiting() }

    /// True while events wait for a reader.
    package var hasWaiting: Bool { self.ring.statistics.queued > 0 }

    /// Reads the subscription.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// Reads a subscription; keeps it alive in the meantime.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: Subscription

        /// The next event; nil once the subscription has ended and everything kept was read.
        public mutating func next() async -> Event? { await self.subscription.ring.next() }
    }
}

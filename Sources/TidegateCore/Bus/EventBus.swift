internal import Synchronization

/// Hears every event, on the publisher's thread; must not block.
public protocol EventSink: Sendable {
    /// Takes an event.
    func receive(_ event: Event)
}

/// Who a bounded subscription is for, as the `subscriber` label gives it.
public enum SubscriberKind: String, Sendable, MetricLabel {
    case sse, watch, log, library
}

/// Carries events: sinks miss nothing, subscribers have a bounded ring and count what they drop.
///
/// Publishing never blocks and allocates nothing of its own. Events of one thread arrive in the order published.
public final class EventBus: Sendable {
    private let time: any TimeSource
    private let wallClock: WallClock
    private let state = Mutex(State())

    private struct State {
        var lastSequence: UInt64 = 0
        var listeners = Listeners()
        var droppedByEnded: [SubscriberKind: UInt64] = [:]
    }

    /// A bus that stamps events by `time`.
    public init(time: any TimeSource) {
        self.time = time
        self.wallClock = WallClock(time)
    }

    /// Tells everybody who listens.
    public func publish(_ payload: consuming Event.Payload) {
        let moment = self.time.monotonic()
        let wall = self.wallClock.time(at: moment)
        // One lock for both: it costs more than what is done under it.
        let (sequence, listeners) = self.state.withLock { state in
            state.lastSequence += 1
            return (state.lastSequence, state.listeners)
        }
        listeners.deliver(Event(sequence: sequence, time: wall, moment: moment, payload: payload))
    }

    /// Attaches a sink for as long as the bus lives.
    public func attach(_ sink: any EventSink) {
        self.state.withLock { $0.listeners = $0.listeners.adding(sink) }
    }

    /// Opens a bounded subscription: the newest `capacity` events that `isWanted` picks are kept for the reader; nil
    /// picks all.
    public func subscribe(
        _ kind: SubscriberKind, bufferingNewest capacity: Int = 256,
        where isWanted: (@Sendable (Event) -> Bool)? = nil
    ) -> Subscription {
        let ring = EventRing(kind: kind, capacity: max(1, capacity), isWanted: isWanted)
        self.state.withLock { $0.listeners = $0.listeners.adding(ring) }
        return Subscription(ring: ring) { [weak self] in self?.remove(ring) }
    }

    /// What the subscriptions hold and what they dropped, by kind; every kind is there.
    public func statistics() -> [SubscriberKind: SubscriberStatistics] {
        self.state.withLock { state in
            var result: [SubscriberKind: SubscriberStatistics] = [:]
            for kind in SubscriberKind.allCases {
                result[kind] = SubscriberStatistics(dropped: state.droppedByEnded[kind] ?? 0)
            }
            for ring in state.listeners.rings { result[ring.kind]?.add(ring.statistics) }
            return result
        }
    }

    private func remove(_ ring: EventRing) {
        self.state.withLock { state in
            let listeners = state.listeners.removing(ring)
            // It may be cancelled more than once, and is counted once.
            guard listeners.rings.count < state.listeners.rings.count else { return }
            state.listeners = listeners
            state.droppedByEnded[ring.kind, default: 0] += ring.statistics.dropped
        }
    }
}

/// What the subscriptions of one kind hold and have dropped.
public struct SubscriberStatistics: Sendable, Hashable {
    /// Events waiting for their reader.
    public var queued: Int
    /// How many could wait.
    public var capacity: Int
    /// Events dropped for newer ones since the start.
    public var dropped: UInt64

    /// Statistics from their parts.
    public init(queued: Int = 0, capacity: Int = 0, dropped: UInt64 = 0) {
        self.queued = queued
        self.capacity = capacity
        self.dropped = dropped
    }

    /// Adds what other subscriptions hold and have dropped.
    public mutating func add(_ other: SubscriberStatistics) {
        self.queued += other.queued
        self.capacity += other.capacity
        self.dropped += other.dropped
    }
}

internal import Synchronization

/// Receives every event, on the publisher's thread; must not block.
package protocol EventSink: Sendable {
    /// Takes an event.
    func receive(_ event: Event)
}

/// What a bounded subscription is for, as the `subscriber` label gives it.
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
        var subscribers = Subscribers()
        var droppedByEnded: [SubscriberKind: UInt64] = [:]
    }

    /// A bus that stamps events by `time`.
    public init(time: any TimeSource) {
        self.time = time
        self.wallClock = WallClock(time)
    }

    /// Delivers a payload to every sink and subscriber.
    package func publish(_ payload: consuming Event.Payload) {
        let moment = self.time.monotonic()
        let wall = self.wallClock.time(at: moment)
        // One lock for both: it costs more than the work under it.
        let (sequence, subscribers) = self.state.withLock { state in
            state.lastSequence += 1
            return (state.lastSequence, state.subscribers)
        }
        subscribers.deliver(Event(sequence: sequence, time: wall, moment: moment, payload: payload))
    }

    /// Delivers several payloads together, as one thread would one after the other, at one moment.
    ///
    /// The clocks are read once and the bus is locked once: for events that come in bursts. Each event is delivered
    /// separately: an array of them would be copied for every sink, which costs more than a sink's lock.
    ///
    /// - Parameter takeFirst: Gives the next of the `count` payloads.
    package func publish(_ count: Int, _ takeFirst: () -> Event.Payload?) {
        guard count > 0 else { return }
        let moment = self.time.monotonic()
        let wall = self.wallClock.time(at: moment)
        let (last, subscribers) = self.state.withLock { state in
            state.lastSequence += UInt64(count)
            return (state.lastSequence, state.subscribers)
        }
        var sequence = last - UInt64(count)
        while sequence < last {
            guard let payload = takeFirst() else { return }
            sequence += 1
            subscribers.deliver(Event(sequence: sequence, time: wall, moment: moment, payload: consume payload))
        }
    }

    /// Attaches a sink for as long as the bus lives.
    package func attach(_ sink: any EventSink) {
        self.state.withLock { $0.subscribers = $0.subscribers.adding(sink) }
    }

    /// Opens a bounded subscription: the newest `capacity` events that `isWanted` picks are kept for the reader; nil
    /// picks all.
    public func subscribe(
        _ kind: SubscriberKind, bufferingNewest capacity: Int = 256,
        where isWanted: (@Sendable (Event) -> Bool)? = nil
    ) -> Subscription {
        let ring = EventRing(kind: kind, capacity: max(1, capacity), isWanted: isWanted)
        self.state.withLock { $0.subscribers = $0.subscribers.adding(ring) }
        return Subscription(ring: ring) { [weak self] in self?.remove(ring) }
    }

    /// What the subscriptions hold and what they dropped, by kind; every kind is present.
    package func statistics() -> [SubscriberKind: SubscriberStatistics] {
        self.state.withLock { state in
            var result: [SubscriberKind: SubscriberStatistics] = [:]
            for kind in SubscriberKind.allCases {
                result[kind] = SubscriberStatistics(dropped: state.droppedByEnded[kind] ?? 0)
            }
            for ring in state.subscribers.rings { result[ring.kind]?.add(ring.statistics) }
            return result
        }
    }

    private func remove(_ ring: EventRing) {
        self.state.withLock { state in
            let remaining = state.subscribers.removing(ring)
            // It may be cancelled more than once, and is counted once.
            guard remaining.rings.count < state.subscribers.rings.count else { return }
            state.subscribers = remaining
            state.droppedByEnded[ring.kind, default: 0] += ring.statistics.dropped
        }
    }
}

/// What the subscriptions of one kind hold and have dropped.
package struct SubscriberStatistics: Sendable, Hashable {
    /// Events waiting for their reader.
    package var queued = 0
    /// How many could wait.
    package var capacity = 0
    /// Events dropped for newer ones since the start.
    package var dropped: UInt64 = 0

    /// Adds what other subscriptions hold and have dropped.
    package mutating func add(_ other: SubscriberStatistics) {
        self.queued += other.queued
        self.capacity += other.capacity
        self.dropped += other.dropped
    }
}

/// The wall clock between two readings: it is read once a millisecond, and carried on by the monotonic clock.
///
/// Reading two clocks for each event would be a third of what publishing costs. A wall clock that is set is noticed
/// with the next reading.
struct WallClock: ~Copyable {
    private let time: any TimeSource
    // When it was read last, in nanoseconds of the other clock, and how far it was ahead of that, in microseconds.
    // Before the first reading that is far from every moment.
    private let asked = Atomic<UInt64>(1 << 63)
    private let lead = Atomic<Int64>(0)

    private static let validity: UInt64 = 1_000_000

    init(_ time: any TimeSource) { self.time = time }

    /// The wall time of the current moment.
    func time(at moment: MonotonicTime) -> WallTime {
        // If another thread has read it in the meantime, the moment precedes that reading: far away in this arithmetic.
        let elapsed = moment.nanoseconds &- self.asked.load(ordering: .acquiring)
        let microseconds = Int64(moment.nanoseconds / 1000)
        guard elapsed >= WallClock.validity else {
            return WallTime(microseconds: self.lead.load(ordering: .relaxed) + microseconds)
        }
        let wall = self.time.wall()
        self.lead.store(wall.microseconds - microseconds, ordering: .relaxed)
        self.asked.store(moment.nanoseconds, ordering: .releasing)
        return wall
    }
}

/// The sinks and subscribers of a bus at one moment; never changed, but replaced as a whole, so that publishing copies
/// one reference.
final class Subscribers: Sendable {
    private let sinks: SinkChain?
    let rings: [EventRing]

    init(sinks: SinkChain? = nil, rings: [EventRing] = []) {
        self.sinks = sinks
        self.rings = rings
    }

    /// Gives an event to every sink and every subscriber, in the order of their attachment.
    func deliver(_ event: Event) {
        self.sinks?.deliver(event)
        guard !self.rings.isEmpty else { return }
        for ring in self.rings { ring.receive(event) }
    }

    func adding(_ sink: any EventSink) -> Subscribers {
        Subscribers(sinks: self.sinks?.adding(sink) ?? SinkChain(sink), rings: self.rings)
    }

    func adding(_ ring: EventRing) -> Subscribers { Subscribers(sinks: self.sinks, rings: self.rings + [ring]) }

    func removing(_ ring: EventRing) -> Subscribers {
        Subscribers(sinks: self.sinks, rings: self.rings.filter { $0 !== ring })
    }
}

/// The few sinks of a bus.
///
/// A linked list and not an array: a sink held by an immutable object is called in place, while an element of an array
/// is copied first, and that counts references for every sink and every event.
final class SinkChain: Sendable {
    private let sink: any EventSink
    private let next: SinkChain?

    init(_ sink: any EventSink, next: SinkChain? = nil) {
        self.sink = sink
        self.next = next
    }

    func deliver(_ event: Event) {
        self.sink.receive(event)
        self.next?.deliver(event)
    }

    /// The chain with one more sink at its end.
    func adding(_ sink: any EventSink) -> SinkChain {
        SinkChain(self.sink, next: self.next?.adding(sink) ?? SinkChain(sink))
    }
}

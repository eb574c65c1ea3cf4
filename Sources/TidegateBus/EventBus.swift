internal import Synchronization
public import TidegateModel

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
    private let lastSequence = Atomic<UInt64>(0)
    // Replaced as a whole on attach and detach: publishing copies a reference, not an array.
    private let sinks = Mutex<[Attached]>([])
    private let rings = Mutex<RingRegistry>(RingRegistry())

    private struct Attached {
        let id: UInt64
        // Opened once, and not for every event.
        let receive: @Sendable (Event) -> Void
    }

    private struct RingRegistry {
        var lastID: UInt64 = 0
        var rings: [UInt64: EventRing] = [:]
        var droppedByEnded: [SubscriberKind: UInt64] = [:]
    }

    /// A bus that stamps events by `time`.
    public init(time: any TimeSource) {
        self.time = time
    }

    /// Tells everybody who listens.
    public func publish(_ occurrence: consuming Occurrence) {
        let sinks = self.sinks.withLock { $0 }
        let event = Event(
            sequence: self.lastSequence.add(1, ordering: .relaxed).newValue, time: self.time.wall(),
            moment: self.time.monotonic(), occurrence: occurrence)
        for attached in sinks { attached.receive(event) }
    }

    /// Attaches a sink for as long as the bus lives.
    public func attach(_ sink: any EventSink) {
        _ = self.add(sink)
    }

    /// Opens a bounded subscription: the newest `capacity` events that `isWanted` picks are kept for the reader.
    public func subscribe(
        _ kind: SubscriberKind, keepingNewest capacity: Int = 256,
        where isWanted: @escaping @Sendable (Event) -> Bool = { _ in true }
    ) -> Subscription {
        let ring = EventRing(kind: kind, capacity: max(1, capacity), isWanted: isWanted)
        let id = self.add(ring)
        self.rings.withLock { $0.rings[id] = ring }
        return Subscription(ring: ring) { [weak self] in self?.remove(id, ring) }
    }

    /// What the subscriptions hold and what they dropped, by kind; every kind is there.
    public func statistics() -> [SubscriberKind: SubscriberStatistics] {
        self.rings.withLock { registry in
            var result: [SubscriberKind: SubscriberStatistics] = [:]
            for kind in SubscriberKind.allCases {
                result[kind] = SubscriberStatistics(dropped: registry.droppedByEnded[kind] ?? 0)
            }
            for ring in registry.rings.values { result[ring.kind]?.add(ring.statistics) }
            return result
        }
    }

    private func add(_ sink: some EventSink) -> UInt64 {
        let id = self.rings.withLock { registry in
            registry.lastID += 1
            return registry.lastID
        }
        self.sinks.withLock { $0 += [Attached(id: id) { sink.receive($0) }] }
        return id
    }

    private func remove(_ id: UInt64, _ ring: EventRing) {
        self.sinks.withLock { $0 = $0.filter { $0.id != id } }
        self.rings.withLock { registry in
            guard registry.rings.removeValue(forKey: id) != nil else { return }
            registry.droppedByEnded[ring.kind, default: 0] += ring.statistics.dropped
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

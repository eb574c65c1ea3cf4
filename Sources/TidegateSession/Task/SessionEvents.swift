internal import Synchronization
internal import TidegateCore

/// Delivers the events of one session's tasks to its subscribers; costs nothing without subscribers.
final class SessionEvents: Sendable {
    private let bus: EventBus
    private let hasReaders = Atomic<Bool>(false)

    init(time: any TimeSource) { self.bus = EventBus(time: time) }

    /// True after the first subscription: before, nothing is copied.
    var isOpen: Bool { self.hasReaders.load(ordering: .relaxed) }

    func publish(_ event: TaskEvent) { self.bus.publish(.task(event)) }

    func publish(_ count: Int, _ takeFirst: () -> Event.Payload?) { self.bus.publish(count, takeFirst) }

    func subscribe(
        bufferingNewest capacity: Int, where isWanted: @escaping @Sendable (Event) -> Bool = { _ in true }
    ) -> Subscription {
        self.hasReaders.store(true, ordering: .relaxed)
        return self.bus.subscribe(.library, bufferingNewest: capacity, where: isWanted)
    }
}

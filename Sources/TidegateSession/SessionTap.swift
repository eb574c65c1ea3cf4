internal import Synchronization
internal import TidegateBus
internal import TidegateModel

/// Carries the events of one session's tasks to whoever subscribes to that session; costs nothing until somebody does.
final class SessionTap: Sendable {
    private let bus: EventBus
    private let isOpen = Atomic<Bool>(false)

    init(time: any TimeSource) { self.bus = EventBus(time: time) }

    func publish(_ event: TaskEvent) {
        if self.isOpen.load(ordering: .relaxed) { self.bus.publish(.task(event)) }
    }

    func subscribe(
        keepingNewest capacity: Int, where isWanted: @escaping @Sendable (Event) -> Bool = { _ in true }
    ) -> Subscription {
        self.isOpen.store(true, ordering: .relaxed)
        return self.bus.subscribe(.library, keepingNewest: capacity, where: isWanted)
    }
}

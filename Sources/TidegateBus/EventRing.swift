internal import Synchronization
internal import TidegateModel

/// A subscriber's own ring: the newest events win, and what they displace is counted.
final class EventRing: EventSink {
    let kind: SubscriberKind
    private let capacity: Int
    private let isWanted: @Sendable (Event) -> Bool
    private let state: Mutex<State>

    private struct State {
        var slots: [Event?]
        var head = 0
        var count = 0
        var dropped: UInt64 = 0
        var isEnded = false
        var reader: CheckedContinuation<Event?, Never>?

        mutating func append(_ event: Event) {
            self.slots[(self.head + self.count) % self.slots.count] = event
            if self.count < self.slots.count {
                self.count += 1
            } else {
                self.head = (self.head + 1) % self.slots.count
                self.dropped += 1
            }
        }

        mutating func popFirst() -> Event? {
            guard self.count > 0 else { return nil }
            let event = self.slots[self.head].take()
            self.head = (self.head + 1) % self.slots.count
            self.count -= 1
            return event
        }
    }

    init(kind: SubscriberKind, capacity: Int, isWanted: @escaping @Sendable (Event) -> Bool) {
        self.kind = kind
        self.capacity = capacity
        self.isWanted = isWanted
        self.state = Mutex(State(slots: Array(repeating: nil, count: capacity)))
    }

    var statistics: SubscriberStatistics {
        self.state.withLock {
            SubscriberStatistics(queued: $0.count, capacity: self.capacity, dropped: $0.dropped)
        }
    }

    func receive(_ event: Event) {
        guard self.isWanted(event) else { return }
        let reader = self.state.withLock { state -> CheckedContinuation<Event?, Never>? in
            guard !state.isEnded else { return nil }
            if let reader = state.reader.take() { return reader }
            state.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    /// The oldest event kept; waits for one, and gives nil once the subscription has ended.
    func next() async -> Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = self.state.withLock { state -> Event?? in
                    if let event = state.popFirst() { return .some(event) }
                    if state.isEnded || state.reader != nil { return .some(nil) }
                    state.reader = reader
                    return nil
                }
                if let answer { reader.resume(returning: answer) }
            }
        } onCancel: {
            self.end()
        }
    }

    func takeWaiting() -> [Event] {
        self.state.withLock { state in
            var events: [Event] = []
            while let event = state.popFirst() { events.append(event) }
            return events
        }
    }

    func end() {
        let reader = self.state.withLock { state in
            state.isEnded = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }
}

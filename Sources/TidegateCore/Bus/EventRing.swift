internal import Synchronization

/// A subscriber's own ring: the newest events win, and what they displace is counted.
final class EventRing: Sendable {
    let kind: SubscriberKind
    private let isWanted: (@Sendable (Event) -> Bool)?
    private let state: Mutex<State>

    private struct State {
        // Grows to the capacity as events come, and is empty again once all are read.
        var slots: [Event] = []
        let capacity: Int
        var head = 0
        var count = 0
        var dropped: UInt64 = 0
        var isEnded = false
        var reader: Reader?

        init(capacity: Int) { self.capacity = capacity }

        mutating func append(_ event: Event) {
            if self.slots.count < self.capacity {
                self.slots.append(event)
            } else {
                self.slots[self.place(self.count)] = event
            }
            if self.count < self.capacity {
                self.count += 1
            } else {
                self.head = self.place(1)
                self.dropped += 1
            }
        }

        mutating func popFirst() -> Event? {
            guard self.count > 0 else { return nil }
            let event = self.slots[self.head]
            self.head = self.place(1)
            self.count -= 1
            if self.count == 0 {
                self.slots.removeAll(keepingCapacity: true)
                self.head = 0
            }
            return event
        }

        // At most one lap ahead: a division costs more than all the rest.
        private func place(_ distance: Int) -> Int {
            let place = self.head + distance
            return place < self.capacity ? place : place - self.capacity
        }
    }

    // A continuation's layout is known at run time only: in the state itself it would make each access to it slow,
    // and so would its resumption beside the code that stores events.
    private final class Reader: Sendable {
        private let continuation: CheckedContinuation<Event?, Never>

        init(_ continuation: CheckedContinuation<Event?, Never>) { self.continuation = continuation }

        @inline(never)
        func resume(returning event: Event?) { self.continuation.resume(returning: event) }
    }

    init(kind: SubscriberKind, capacity: Int, isWanted: (@Sendable (Event) -> Bool)?) {
        self.kind = kind
        self.isWanted = isWanted
        self.state = Mutex(State(capacity: capacity))
    }

    var statistics: SubscriberStatistics {
        self.state.withLock {
            SubscriberStatistics(queued: $0.count, capacity: $0.capacity, dropped: $0.dropped)
        }
    }

    func receive(_ event: Event) {
        if let isWanted = self.isWanted, !isWanted(event) { return }
        let reader = self.state.withLock { state -> Reader? in
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
                    state.reader = Reader(reader)
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

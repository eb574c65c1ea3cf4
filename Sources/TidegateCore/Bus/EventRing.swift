internal import DequeModule
internal import Synchronization

/// A subscriber's own ring: the newest events win, and what they displace is counted.
final class EventRing: Sendable {
    let kind: SubscriberKind
    private let isWanted: (@Sendable (Event) -> Bool)?
    private let capacity: Int
    private let state = Mutex(State())

    private struct State {
        var events = Deque<Event>()
        var dropped: UInt64 = 0
        var isEnded = false
        var reader: Reader?
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
        self.capacity = capacity
    }

    var statistics: SubscriberStatistics {
        self.state.withLock {
            SubscriberStatistics(queued: $0.events.count, capacity: self.capacity, dropped: $0.dropped)
        }
    }

    func receive(_ event: Event) {
        if let isWanted = self.isWanted, !isWanted(event) { return }
        let reader = self.state.withLock { state -> Reader? in
            guard !state.isEnded else { return nil }
            if let reader = state.reader.take() { return reader }
            if state.events.count == self.capacity {
                state.events.removeFirst()
                state.dropped += 1
            }
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    /// The oldest event kept; waits for one, and gives nil once the subscription has ended.
    func next() async -> Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = self.state.withLock { state -> Event?? in
                    if let event = state.events.popFirst() { return .some(event) }
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
            defer { state.events.removeAll(keepingCapacity: true) }
            return Array(state.events)
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

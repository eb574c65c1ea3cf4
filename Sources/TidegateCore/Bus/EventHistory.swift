internal import Synchronization

/// Keeps the newest events of a bus, for clients that come later or come back.
///
/// Events that are only counted are left out, because they would displace everything else within minutes: progress,
/// messages and lookups by their number, the receive buffer's size, answered requests and written journal entries.
package final class EventHistory: EventSink {
    /// Names the process's life in ids: an id of an earlier process never matches one of this process.
    package let boot: String
    /// How many events are kept.
    package let capacity: Int
    private let state: Mutex<State>

    fileprivate struct State {
        var ring: HistoryRing
        var lastFollower: UInt64 = 0
        var followers: [UInt64: EventHistory.Position] = [:]
        var readers: [UInt64: CheckedContinuation<EventHistory.Batch?, Never>] = [:]
        var droppedByEnded: UInt64 = 0

        fileprivate mutating func takeReaders() -> [Resumption] {
            defer { self.readers.removeAll(keepingCapacity: true) }
            return self.readers.compactMap { follower, continuation in
                guard var cursor = self.followers[follower] else { return nil }
                defer { self.followers[follower] = cursor }
                return Resumption(continuation: continuation, events: cursor.take(from: self.ring))
            }
        }
    }

    /// An empty history; `boot` must differ between lives of the process and contain neither spaces nor line ends.
    package init(boot: String, capacity: Int = 4096) {
        self.boot = boot
        self.capacity = max(1, capacity)
        self.state = Mutex(State(ring: HistoryRing(capacity: self.capacity)))
    }

    /// Keeps an event, and gives it to the readers that wait for one.
    package func receive(_ event: Event) {
        guard event.relevance >= .history else { return }
        let resumptions = self.state.withLock { state -> [Resumption]? in
            state.ring.append(event)
            // Usually no reader waits, and then nothing is allocated.
            return state.readers.isEmpty ? nil : state.takeReaders()
        }
        if let resumptions { Resumption.run(resumptions) }
    }

    /// The newest events that `isWanted` picks, oldest first.
    package func newest(_ count: Int, where isWanted: (Event) -> Bool = { _ in true }) -> [Event] {
        var (events, end): ([Event], UInt64?) = ([], nil)
        // In pieces: a copy of the whole ring would make the next publisher copy it, too.
        while events.count < count {
            let (piece, start) = self.state.withLock { $0.ring.piece(before: end) }
            guard !piece.isEmpty else { break }
            events += piece.reversed().filter(isWanted)
            end = start
        }
        return events.prefix(count).reversed()
    }

    /// The id of an event, `BOOT-SEQ`.
    package func id(of event: Event) -> String { "\(self.boot)-\(event.sequence)" }

    // MARK: Following

    /// Follows the events from the one behind `id` on, without gap or repeat; from now on if the id is nil, of an
    /// earlier life, or too old.
    ///
    /// - Parameter bound: How many events may wait for their reader, those of the resumed past not counted.
    package func follow(after id: String? = nil, bufferingNewest bound: Int = 256) -> EventHistory.Reader {
        let sequence = id.flatMap(self.sequence(of:))
        return self.state.withLock { state in
            let resumed = sequence.flatMap { state.ring.position(after: $0) }
            state.lastFollower += 1
            state.followers[state.lastFollower] = EventHistory.Position(
                position: resumed ?? state.ring.end, pastUntil: state.ring.end, bound: max(1, bound))
            return EventHistory.Reader(
                history: self, number: state.lastFollower, isResumed: resumed != nil,
                lastID: "\(self.boot)-\(state.ring.newest?.sequence ?? 0)")
        }
    }

    /// What the followers have waiting and what they missed.
    package var statistics: SubscriberStatistics {
        self.state.withLock { state in
            var sum = SubscriberStatistics(dropped: state.droppedByEnded)
            for cursor in state.followers.values { sum.add(cursor.statistics(in: state.ring)) }
            return sum
        }
    }

    /// The next events of a follower; waits for one, and gives nil once the follower has ended.
    func next(_ follower: UInt64) async -> EventHistory.Batch? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = self.state.withLock { state -> EventHistory.Batch?? in
                    guard var cursor = state.followers[follower] else { return .some(nil) }
                    let events = cursor.take(from: state.ring)
                    state.followers[follower] = cursor
                    if !events.isEmpty { return events }
                    // A second reader of a follower would take events from the first one.
                    guard state.readers[follower] == nil else { return .some(nil) }
                    state.readers[follower] = reader
                    return nil
                }
                if let answer { reader.resume(returning: answer) }
            }
        } onCancel: {
            self.end(follower)
        }
    }

    /// Wakes a waiting reader without an event.
    func wake(_ follower: UInt64) {
        let reader = self.state.withLock { $0.readers.removeValue(forKey: follower) }
        reader?.resume(returning: EventHistory.Batch())
    }

    func end(_ follower: UInt64) {
        let reader = self.state.withLock { state in
            state.droppedByEnded += state.followers.removeValue(forKey: follower)?.dropped ?? 0
            return state.readers.removeValue(forKey: follower)
        }
        reader?.resume(returning: nil)
    }

    private func sequence(of id: String) -> UInt64? {
        guard id.hasPrefix(self.boot + "-") else { return nil }
        let digits = id.utf8.dropFirst(self.boot.utf8.count + 1)
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// Where a reader is in the history's ring.
    struct Position {
        fileprivate var position: UInt64
        /// Up to here the past was requested: the reader may be behind by more than the bound.
        fileprivate let pastUntil: UInt64
        fileprivate let bound: Int
        fileprivate(set) var dropped: UInt64 = 0

        private static let batch: UInt64 = 64

        mutating func take(from ring: HistoryRing) -> Batch {
            let start = self.firstKept(in: ring)
            let end = min(ring.end, start + Position.batch)
            let missed = start - self.position
            self.dropped += missed
            self.position = end
            return Batch(events: (start..<end).compactMap { ring[$0] }, dropped: missed)
        }

        func statistics(in ring: HistoryRing) -> SubscriberStatistics {
            let start = self.firstKept(in: ring)
            return SubscriberStatistics(
                queued: Int(ring.end - start), capacity: self.bound, dropped: self.dropped + (start - self.position))
        }

        // The newest win: events over the bound are dropped with all earlier ones, including the requested past.
        private func firstKept(in ring: HistoryRing) -> UInt64 {
            let waiting = ring.end - max(self.position, self.pastUntil)
            let isOver = waiting > UInt64(self.bound)
            return max(isOver ? ring.end - UInt64(self.bound) : self.position, ring.start)
        }
    }

    /// Reads a history from one position on, for one client; it ends when it is released.
    package final class Reader: Sendable {
        private let history: EventHistory
        private let number: UInt64
        /// True if it continues behind the requested id; otherwise the reader needs a snapshot first.
        package let isResumed: Bool
        /// The id of the newest event when the following began; a snapshot made afterwards is at least as new.
        package let lastID: String

        init(history: EventHistory, number: UInt64, isResumed: Bool, lastID: String) {
            (self.history, self.number, self.isResumed, self.lastID) = (history, number, isResumed, lastID)
        }

        deinit { self.end() }

        /// The events that came in the meantime, at most 64, or the next one; nil once the reader or the reading task has ended.
        package func next() async -> Batch? { await self.history.next(self.number) }

        /// Wakes a waiting reader without an event.
        package func wake() { self.history.wake(self.number) }

        /// Ends the reader; a waiting call gets nil.
        package func end() { self.history.end(self.number) }
    }

    /// What a reader gets at a time.
    package struct Batch: Sendable {
        /// The events, in the order of the history.
        package var events: [Event] = []
        /// How many were dropped just before them because the reader was too slow.
        package var dropped: UInt64 = 0

        /// True if there are neither events nor losses.
        package var isEmpty: Bool { self.events.isEmpty && self.dropped == 0 }
    }
}

/// A reader that waits, with the events for it.
private struct Resumption {
    let continuation: CheckedContinuation<EventHistory.Batch?, Never>
    let events: EventHistory.Batch

    // A call of its own: few events have a waiting reader, and a continuation makes the code around it slow.
    @inline(never)
    static func run(_ resumptions: [Resumption]) {
        for reader in resumptions { reader.continuation.resume(returning: reader.events) }
    }
}

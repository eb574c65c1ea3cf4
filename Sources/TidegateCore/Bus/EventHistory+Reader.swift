extension EventHistory {
    /// Reads a history from one position on, for one client; it ends when it is released.
    package final class Reader: Sendable {
        private let history: EventHistory
        private let number: UInt64
        /// True if it continues behind the requested id; otherwise the reader needs a snapshot first.
        package let isResumed: Bool
        /// The id of the newest event when the following began; a snapshot made afterwards is at least as new.
        package let lastID: String

        init(history: EventHistory, number: UInt64, isResumed: Bool, lastID: String) {
            self.history = history
            self.number = number
            self.isResumed = isResumed
            self.lastID = lastID
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

extension EventHistory {
    /// Follows a history from one place on, for one reader; it ends when it is released.
    public final class Reader: Sendable {
        private let history: EventHistory
        private let number: UInt64
        /// True where it goes on behind the id asked for; otherwise the reader needs a snapshot first.
        public let isResumed: Bool
        /// The id of the newest event when the following began; a snapshot made afterwards is at least as new.
        public let lastID: String

        init(history: EventHistory, number: UInt64, isResumed: Bool, lastID: String) {
            self.history = history
            self.number = number
            self.isResumed = isResumed
            self.lastID = lastID
        }

        deinit { self.end() }

        /// The events that came meanwhile, at most 64, or the next one; nil once the follower or the reading task has ended.
        public func next() async -> Batch? { await self.history.next(self.number) }

        /// Lets a waiting reader go on without an event.
        public func wake() { self.history.wake(self.number) }

        /// Ends the following; a waiting reader gets nil.
        public func end() { self.history.end(self.number) }
    }

    /// What a follower gets at a time.
    public struct Batch: Sendable {
        /// The events, in the order of the history.
        public var events: [Event] = []
        /// How many were dropped just before them because the reader was too slow.
        public var dropped: UInt64 = 0

        /// True where there is nothing to tell.
        public var isEmpty: Bool { self.events.isEmpty && self.dropped == 0 }
    }
}

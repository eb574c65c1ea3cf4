internal import TidegateCore

/// The last results of the tasks of one name or key.
struct TaskResults: Sendable {
    /// How one of them ended.
    struct Entry: Codable, Sendable {
        /// The task.
        let task: String
        private let outcomeName: String
        private let microseconds: Int64
        let text: String
        private var partyName: String?

        var outcome: TaskOutcome { TaskOutcome(rawValue: self.outcomeName) ?? .failure }
        var time: WallTime { WallTime(microseconds: self.microseconds) }
        /// Whose failure it was.
        var party: FaultParty? { self.partyName.flatMap(FaultParty.init(rawValue:)) }

        init(_ outcome: TaskOutcome, of task: TaskID, at time: WallTime, text: String, party: FaultParty? = nil) {
            (self.task, self.outcomeName, self.microseconds) = (task.description, outcome.rawValue, time.microseconds)
            (self.text, self.partyName) = (text, party?.rawValue)
        }

        /// The same with the party that it turned out to be.
        func revised(to party: FaultParty) -> Entry {
            var entry = self
            entry.partyName = party.rawValue
            return entry
        }
    }

    static let limit = 10

    /// True for a name or a key, false for what tasks without either have in common.
    let isNamed: Bool
    /// The oldest first.
    private(set) var entries: [Entry] = []

    init(isNamed: Bool) { self.isNamed = isNamed }

    /// Adds a result, or replaces what was known of the same task.
    mutating func add(_ entry: Entry) {
        if let known = self.entries.lastIndex(where: { $0.task == entry.task }) {
            self.entries[known] = entry
            return
        }
        if self.entries.count == TaskResults.limit { self.entries.removeFirst() }
        self.entries.append(entry)
    }
}

/// Results that the journal does not have yet.
///
/// They are taken at most once in a slice of time, so that those of very many tasks do not displace the rest there.
struct UnsavedResults: Sendable {
    private static let limit = 2000

    private var results: [HistoryRecord.NamedResult] = []
    private var lastSlice: Int64?

    mutating func add(_ result: HistoryRecord.NamedResult) {
        if self.results.count == UnsavedResults.limit { self.results.removeFirst() }
        self.results.append(result)
    }

    /// All of them; nil if there are none, or if some were taken in the slice of this moment, unless it is nil.
    mutating func take(at time: WallTime?) -> [HistoryRecord.NamedResult]? {
        let slice = time.map(RequestSlice.number)
        guard !self.results.isEmpty, slice == nil || slice != self.lastSlice else { return nil }
        self.lastSlice = slice
        defer { self.results = [] }
        return self.results
    }
}

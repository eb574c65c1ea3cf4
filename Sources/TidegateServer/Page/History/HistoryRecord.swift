internal import TidegateCore

/// The page's memory of the past, of bounded size: level changes, requests, events and results.
struct HistoryRecord: Sendable {
    /// One fact in the form that the journal keeps.
    enum Entry: Codable, Sendable {
        case line(EventLine)
        /// The level of the host from this time on; nil while no process was watching.
        case level(at: Int64, from: String?, to: String?)
        case requests(RequestSlice)
        /// A new version of a slice that was already kept.
        case revised(RequestSlice)
        /// The results of tasks with a name or a key.
        case results([NamedResult])
    }

    /// A level change; nil while no process was watching.
    struct LevelChange: Sendable {
        let time: WallTime
        let from: ReachabilityLevel?
        let to: ReachabilityLevel?
    }

    /// The result of a target check.
    struct CheckMark: Sendable {
        let time: WallTime
        /// The target's latency; nil if it was not reached.
        let latency: Duration?
    }

    /// A task's result, with its name or key.
    struct NamedResult: Codable, Sendable {
        let name: String
        let entry: TaskResults.Entry
    }

    private static let changeLimit = 512
    private static let lineLimit = 300
    private static let nameLimit = 200
    private static let checkLimit = 40
    private static let unsavedLimit = 2000

    /// When this process started watching.
    let start: WallTime
    /// Level changes of earlier processes; the last one leads to nil.
    private(set) var past: [LevelChange] = []
    private(set) var changes: [LevelChange] = []
    /// True once the first changes were dropped.
    private(set) var hasDroppedChanges = false
    /// Requests and their failures.
    var requests = RequestHistory()
    private(set) var lines: [EventLine] = []
    /// Lines that come often, which must not displace the others.
    private(set) var frequentLines: [EventLine] = []
    private(set) var results: [String: TaskResults] = [:]
    /// The last checks of each target, oldest first.
    private(set) var checks: [Target: [CheckMark]] = [:]

    init(from start: WallTime) { self.start = start }

    // MARK: Restoring

    /// Restores what an earlier process remembered, oldest first.
    mutating func restore(_ entries: [Entry]) {
        var last: WallTime?
        for entry in entries {
            switch entry {
            case .line(let line):
                self.append(line)
                last = line.time
            case .level(let microseconds, let from, let to):
                let time = WallTime(microseconds: microseconds)
                self.past.append(
                    LevelChange(
                        time: time, from: from.flatMap(ReachabilityLevel.init(rawValue:)),
                        to: to.flatMap(ReachabilityLevel.init(rawValue:))), keeping: HistoryRecord.changeLimit)
                last = time
            case .revised(let slice):
                self.requests.replace(slice)
            case .results(let results): for result in results { self.add(result.entry, of: result.name, isNamed: true) }
            case .requests(let slice):
                self.requests.restore(slice)
                last = max(last ?? .init(microseconds: 0), slice.start + RequestSlice.length)
            }
        }
        self.requests.dropOld(before: self.start)
        // A killed process has not recorded its end.
        if let open = self.past.last?.to, let last {
            self.past.append(LevelChange(time: min(last, self.start), from: open, to: nil))
        }
    }

    // MARK: Recording

    // Results that the journal does not have yet.
    private var unsaved: [NamedResult] = []
    // The time slice in which results were last taken.
    private var lastTaken: Int64?

    /// Charges a failed attempt to the party that proved responsible; returns the entry to keep again.
    mutating func revise(_ attempt: RequestHistory.Attempt, to party: FaultParty) -> Entry? {
        let entry = self.requests.revise(attempt, to: party).map(Entry.revised)
        let task = attempt.task.description
        for (name, results) in self.results {
            guard let failed = results.entries.last(where: { $0.task == task && $0.outcome == .failure }) else {
                continue
            }
            let revised = failed.revised(to: party)
            self.results[name]?.add(revised)
            if results.isNamed { self.keep(NamedResult(name: name, entry: revised)) }
        }
        return entry
    }

    mutating func add(_ change: LevelChange) {
        self.hasDroppedChanges = self.hasDroppedChanges || self.changes.count >= HistoryRecord.changeLimit
        self.changes.append(change, keeping: HistoryRecord.changeLimit, dropping: HistoryRecord.changeLimit / 4)
    }

    mutating func append(_ line: EventLine) {
        let list = line.many == nil ? \HistoryRecord.lines : \.frequentLines
        self[keyPath: list].append(line, keeping: HistoryRecord.lineLimit, dropping: HistoryRecord.lineLimit / 4)
    }

    mutating func add(_ entry: TaskResults.Entry, of name: String, isNamed: Bool) {
        // A configuration has few names, but the names of many URLs must not fill the memory.
        if self.results[name] == nil, self.results.count == HistoryRecord.nameLimit { self.dropOldestResults() }
        self.results[name, default: TaskResults(isNamed: isNamed)].add(entry)
    }

    /// Keeps a result for ``takeUnsavedResults(at:)``.
    mutating func keep(_ result: NamedResult) {
        self.unsaved.append(result, keeping: HistoryRecord.unsavedLimit)
    }

    /// The results that have not been taken yet; nil if there are none, or if some were already taken in this time
    /// slice.
    ///
    /// A nil time ignores the slice. The limit keeps results of very many tasks from displacing the rest of the
    /// journal.
    mutating func takeUnsavedResults(at time: WallTime?) -> Entry? {
        let slice = time.map(RequestSlice.number)
        guard !self.unsaved.isEmpty, slice == nil || slice != self.lastTaken else { return nil }
        self.lastTaken = slice
        defer { self.unsaved = [] }
        return .results(self.unsaved)
    }

    /// Adds a check; true if its result differs from the previous one, or if it is the first and failed.
    mutating func add(_ mark: CheckMark, of target: Target) -> Bool {
        let last = self.checks[target]?.last
        self.checks[target, default: []].append(mark, keeping: HistoryRecord.checkLimit)
        return (last?.latency == nil) != (mark.latency == nil) || last == nil && mark.latency == nil
    }

    private mutating func dropOldestResults() {
        let oldest = self.results.min { left, right in
            (left.value.entries.last?.time ?? self.start) < (right.value.entries.last?.time ?? self.start)
        }
        if let oldest { self.results[oldest.key] = nil }
    }
}

/// The last results of tasks with one name or key.
struct TaskResults: Sendable {
    /// The result of one of them.
    struct Entry: Codable, Sendable {
        /// The task.
        let task: String
        private let outcomeName: String
        private let microseconds: Int64
        let text: String
        private var partyName: String?

        var outcome: TaskOutcome { TaskOutcome(rawValue: self.outcomeName) ?? .failure }
        var time: WallTime { WallTime(microseconds: self.microseconds) }
        /// The responsible party.
        var party: FaultParty? { self.partyName.flatMap(FaultParty.init(rawValue:)) }

        init(_ outcome: TaskOutcome, of task: TaskID, at time: WallTime, text: String, party: FaultParty? = nil) {
            (self.task, self.outcomeName, self.microseconds) = (task.description, outcome.rawValue, time.microseconds)
            (self.text, self.partyName) = (text, party?.rawValue)
        }

        /// This entry with the party that proved responsible.
        func revised(to party: FaultParty) -> Entry {
            var entry = self
            entry.partyName = party.rawValue
            return entry
        }
    }

    static let limit = 10

    /// True for a name or a key; false for tasks grouped by their request.
    let isNamed: Bool
    /// Oldest first.
    private(set) var entries: [Entry] = []

    /// Adds a result, or replaces the entry of the same task.
    mutating func add(_ entry: Entry) {
        if let known = self.entries.lastIndex(where: { $0.task == entry.task }) {
            self.entries[known] = entry
            return
        }
        self.entries.append(entry, keeping: TaskResults.limit)
    }
}

extension Array {
    /// Appends an element; if there are already `limit` elements, drops the oldest first.
    mutating func append(_ element: Element, keeping limit: Int, dropping count: Int = 1) {
        if self.count >= limit { self.removeFirst(count) }
        self.append(element)
    }
}

internal import TidegateCore

/// What the page remembers of the past, in bounded memory: changes of the level, requests, events and results.
struct HistoryRecord: Sendable {
    /// One fact as the journal keeps it.
    enum Entry: Codable, Sendable {
        case line(EventLine)
        /// The level of the host from this moment on; nil once nothing was watching.
        case level(at: Int64, from: String?, to: String?)
        case requests(RequestSlice)
        /// A slice that was kept before, now that more is known of it.
        case revised(RequestSlice)
        /// How tasks with a name or a key ended.
        case results([NamedResult])
    }

    /// A change of the level; nil where nothing was watching.
    struct LevelChange: Sendable {
        let time: WallTime
        let from: ReachabilityLevel?
        let to: ReachabilityLevel?
    }

    /// What a check of a target found.
    struct CheckMark: Sendable {
        let time: WallTime
        /// How long the target took; nil if it was not reached.
        let latency: Duration?
    }

    /// How a task ended, with its name or key.
    struct NamedResult: Codable, Sendable {
        let name: String
        let entry: TaskResults.Entry
    }

    private static let changeLimit = 512
    private static let lineLimit = 300
    private static let nameLimit = 200
    private static let checkLimit = 40
    private static let unsavedLimit = 2000

    /// When this process began to watch.
    let start: WallTime
    /// Of earlier processes; ends without a level.
    private(set) var past: [LevelChange] = []
    private(set) var changes: [LevelChange] = []
    /// Requests and their failures.
    var requests = RequestHistory()
    private(set) var lines: [EventLine] = []
    private(set) var results: [String: TaskResults] = [:]
    /// The last checks of each target, the oldest first.
    private(set) var checks: [Target: [CheckMark]] = [:]

    init(from start: WallTime) { self.start = start }

    // MARK: Restoring

    /// Takes what an earlier process remembered, the oldest first.
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
                        to: to.flatMap(ReachabilityLevel.init(rawValue:))))
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
        // A process that was killed has not said when.
        if let open = self.past.last?.to, let last {
            self.past.append(LevelChange(time: min(last, self.start), from: open, to: nil))
        }
    }

    // MARK: Recording

    // Results that the journal does not have yet.
    private var unsaved: [NamedResult] = []
    // The slice of time in which some were taken last.
    private var lastTaken: Int64?

    /// Counts a failed attempt for the party that it turned out to be; what is to be kept anew.
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
        self.changes.append(change, keeping: HistoryRecord.changeLimit, dropping: HistoryRecord.changeLimit / 4)
    }

    mutating func append(_ line: EventLine) {
        self.lines.append(line, keeping: HistoryRecord.lineLimit, dropping: HistoryRecord.lineLimit / 4)
    }

    mutating func add(_ entry: TaskResults.Entry, of name: String, isNamed: Bool) {
        // Names from a configuration are few; one for each of many URLs must not fill the memory.
        if self.results[name] == nil, self.results.count == HistoryRecord.nameLimit { self.dropOldestResults() }
        self.results[name, default: TaskResults(isNamed: isNamed)].add(entry)
    }

    /// Keeps a result for ``takeUnsavedResults(at:)``.
    mutating func keep(_ result: NamedResult) {
        self.unsaved.append(result, keeping: HistoryRecord.unsavedLimit)
    }

    /// The results that have not been taken yet; nil if there are none, or if some were taken in the slice of this
    /// moment, unless it is nil: those of very many tasks must not displace the rest of the journal.
    mutating func takeUnsavedResults(at time: WallTime?) -> Entry? {
        let slice = time.map(RequestSlice.number)
        guard !self.unsaved.isEmpty, slice == nil || slice != self.lastTaken else { return nil }
        self.lastTaken = slice
        defer { self.unsaved = [] }
        return .results(self.unsaved)
    }

    /// Adds a check; true if it found something else than the one before, or a failure as the first.
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

    /// Adds a result, or replaces what was known of the same task.
    mutating func add(_ entry: Entry) {
        if let known = self.entries.lastIndex(where: { $0.task == entry.task }) {
            self.entries[known] = entry
            return
        }
        self.entries.append(entry, keeping: TaskResults.limit)
    }
}

extension Array {
    /// Appends an element, and drops the oldest ones where there are `limit` already.
    mutating func append(_ element: Element, keeping limit: Int, dropping count: Int = 1) {
        if self.count >= limit { self.removeFirst(count) }
        self.append(element)
    }
}

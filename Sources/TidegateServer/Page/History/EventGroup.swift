internal import TidegateCore

/// Events with a common cause: how it began, its effects, and when it ended.
struct EventGroup: Sendable {
    /// The event that explains the others.
    private(set) var cause: EventLine
    /// The effects, a few words each.
    private(set) var effects: [String]
    /// When it began; for repeated events, the latest time.
    private(set) var begin: WallTime
    /// When it first began.
    private(set) var first: WallTime
    /// The time of its latest event.
    private(set) var last: WallTime
    /// When it ended; nil if it has not, or if it has no duration.
    private(set) var end: WallTime?
    /// How often it has occurred.
    private(set) var count = 1
    /// How many groups that say the same about different subjects it stands for.
    private var subjectCount = 1
    fileprivate let subjects: Set<String>

    /// A repetition after more than this time starts a new group.
    private static let repeatLimit = Duration.seconds(900)
    /// More groups that say the same about different subjects are shown as one.
    private static let subjectLimit = 3
    /// The effects of a change follow it within this.
    private static let effectLimit = Duration.seconds(2)

    var party: FaultParty? { self.cause.party }

    /// True for an outage of this host's network that this process, which began at `start`, has not seen end.
    private func isOngoing(since start: WallTime) -> Bool {
        self.end == nil && self.cause.isWorse && self.cause.rank < .check && !(self.last < start)
    }

    /// What happened.
    var text: String {
        guard self.subjectCount > 1, let many = self.cause.many else { return self.cause.text }
        return "\(self.subjectCount) \(many)"
    }

    private init(_ lines: [EventLine], first: WallTime) {
        let sorted = lines.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        let ranked = sorted.map(\.element)
        self.cause = ranked.first ?? EventLine("", at: first)
        // Only the last effect on a subject counts; earlier ones were intermediate steps.
        let cause = self.cause
        let others = ranked.dropFirst().filter { $0.rank >= .requests || $0.subject != cause.subject }
        let latest = others.reduce(into: [(subject: String, effect: String)]()) { found, line in
            if let place = found.firstIndex(where: { $0.subject == line.subject && line.rank < .requests }) {
                found[place].effect = line.effect
            } else {
                found.append((line.subject, line.effect))
            }
        }
        self.effects = latest.map(\.effect).filter { $0 != cause.effect }
        (self.begin, self.first, self.last) = (first, first, lines.map(\.time).max() ?? first)
        self.subjects = Set(lines.filter { $0.rank <= .target }.map(\.subject))
    }

    /// All remembered groups, latest first.
    static func all(of record: HistoryRecord) -> [EventGroup] {
        let lost = record.requests.slices.flatMap { $0.failures.filter(\.isPathLoss) }.map(EventLine.init(lost:))
        let network = (record.lines.filter { $0.rank < .other } + lost).sorted { $0.time < $1.time }
        let failures = record.requests.slices.flatMap(\.failures).filter { !$0.isPathLoss }
        let others = record.lines.filter { $0.rank == .other }
        let frequent =
            self.merged(failures.map { (EventLine(failed: $0), $0.count, $0.last) }) {
                $0.text == $1.text && $0.party == $1.party && $0.subject == $1.subject
            }
            + self.merged(record.frequentLines.map { ($0, 1, $0.time) }) {
                $0.many == $1.many && $0.party == $1.party && $0.subject == $1.subject
            }
        let groups =
            self.outages(among: network) + self.together(frequent)
            + self.merged(others.map { ($0, 1, $0.time) }) { $0.text == $1.text && $0.task == $1.task }
        // What came after the beginning of an outage does not bury it.
        let sorted = groups.sorted { ($0.last, $0.cause.rank.rawValue) > ($1.last, $1.cause.rank.rawValue) }
        return sorted.filter { $0.isOngoing(since: record.start) }
            + sorted.filter { !$0.isOngoing(since: record.start) }
    }

    // MARK: Outages

    // Changes for the worse and for the better form separate groups; the second ends the first.
    private static func outages(among lines: [EventLine]) -> [EventGroup] {
        var groups: [EventGroup] = []
        for part in self.parts(of: lines) {
            let group = EventGroup(part, first: part[0].time)
            if group.cause.isWorse || !self.end(group, in: &groups) { self.add(group, to: &groups) }
        }
        return groups
    }

    private static func parts(of lines: [EventLine]) -> [[EventLine]] {
        lines.reduce(into: [[EventLine]]()) { parts, line in
            if let last = parts.last?.last, last.isWorse == line.isWorse, line.time.since(last.time) <= self.effectLimit
            {
                parts[parts.count - 1].append(line)
            } else {
                parts.append([line])
            }
        }
    }

    private static func add(_ group: EventGroup, to groups: inout [EventGroup]) {
        let known = groups.lastIndex { $0.cause.text == group.cause.text && ($0.end != nil || !$0.cause.isWorse) }
        guard let known, group.begin.since(groups[known].last) <= self.repeatLimit else {
            return groups.append(group)
        }
        var repeated = group
        repeated.first = groups[known].first
        repeated.count = groups[known].count + 1
        groups.remove(at: known)
        groups.append(repeated)
    }

    // True if the recovery ended an outage, whose group then shows the end.
    private static func end(_ recovery: EventGroup, in groups: inout [EventGroup]) -> Bool {
        var isKnown = false
        for position in groups.indices
        where groups[position].end == nil && groups[position].cause.isWorse
            && recovery.subjects.contains(groups[position].cause.subject)
        {
            groups[position].end = recovery.begin
            groups[position].last = max(groups[position].last, recovery.last)
            isKnown = true
        }
        return isKnown
    }

    // MARK: Repetitions

    /// Groups lines that repeat a recent one.
    private static func merged(
        _ lines: [(line: EventLine, count: Int, last: WallTime)], where isSame: (EventLine, EventLine) -> Bool
    ) -> [EventGroup] {
        var groups: [EventGroup] = []
        for (line, count, last) in lines {
            let known = groups.lastIndex { isSame($0.cause, line) && line.time.since($0.last) <= self.repeatLimit }
            if known == nil { groups.append(EventGroup([line], first: line.time)) }
            let place = known ?? groups.count - 1
            groups[place].count = (known == nil ? 0 : groups[place].count) + count
            (groups[place].last, groups[place].begin) = (last, last)
        }
        return groups
    }

    /// Groups of many subjects that say the same at about the same time as one, with the subjects as its effects.
    private static func together(_ groups: [EventGroup]) -> [EventGroup] {
        var chains: [[EventGroup]] = []
        for group in groups.sorted(by: { $0.first < $1.first }) {
            let known = chains.lastIndex { chain in
                chain[0].cause.many == group.cause.many && chain[0].party == group.party
                    && group.first.since(chain.map(\.last).max() ?? group.first) <= self.repeatLimit
            }
            if let known { chains[known].append(group) } else { chains.append([group]) }
        }
        return chains.flatMap { $0.count > self.subjectLimit ? [EventGroup($0)] : $0 }
    }

    private init(_ groups: [EventGroup]) {
        self = groups.max { $0.last < $1.last } ?? groups[0]
        (self.first, self.count) = (groups[0].first, groups.reduce(0) { $0 + $1.count })
        (self.subjectCount, self.effects) = (groups.count, groups.sorted { $0.last > $1.last }.map(\.cause.effect))
    }
}

extension EventLine {
    // `limited` is worse than `routed`; a first verdict is not worse.
    fileprivate var isWorse: Bool { self.tone == .bad || self.tone == .wait }

    fileprivate init(lost failure: RequestSlice.Failure) {
        let text = failure.count == 1 ? "1 request lost its path" : "\(failure.count) requests lost their path"
        self.init(text, at: failure.first, rank: .requests, tone: .bad, party: failure.party, subject: "requests")
    }

    fileprivate init(failed failure: RequestSlice.Failure) {
        self.init(
            failure.subject.isEmpty ? failure.cause : "\(failure.subject): \(failure.cause)", at: failure.first,
            rank: .requests, tone: .bad, party: failure.party, subject: failure.subject, many: "hosts: requests failed")
    }
}

/// The events of the page: one entry for each cause, latest first, restricted to a party if one is selected.
struct EventList {
    let groups: [EventGroup]
    let choice: PageChoice
    /// The names of tasks by their ids.
    let taskNames: [String: String]
    /// The recorded outages, the newest first; an event of one leads to its page.
    var incidents: [Incident] = []
    let now: WallTime

    /// How many entries are shown or folded away.
    static let limit = 48
    /// How many effects of a cause are named.
    private static let effectLimit = 4

    var html: HTML {
        let wanted = self.groups.filter { self.choice.party == nil || $0.party == self.choice.party }
        let none = self.choice.party.map { "No events of \($0)." } ?? "Nothing has happened yet."
        let entries = wanted.prefix(EventList.limit).map(self.entry)
        let newest = Array(entries.prefix(RowTable.limit)).joined(in: "ol", class: "events")
        let older = Array(entries.dropFirst(RowTable.limit)).joined(in: "ol", class: "events").map {
            HTML.fold("news-rest", "\(entries.count - RowTable.limit) more", $0)
        }
        return "\(self.filter)\(newest ?? HTML("p", class: "empty", "\(none)"))\(older)"
    }

    private var filter: HTML? {
        let present = FaultParty.allCases.filter { party in
            party == self.choice.party || self.groups.contains { $0.party == party }
        }
        guard !present.isEmpty else { return nil }
        return HTML(
            "p", class: "filter", self.link("all", to: nil), present.map { self.link(.party($0), to: $0) }.joined())
    }

    private func link(_ text: HTML, to party: FaultParty?) -> HTML {
        PageChoice(party: party, span: self.choice.span)
            .link(text, section: "news", isCurrent: party == self.choice.party)
    }

    private func entry(_ group: EventGroup) -> HTML {
        let line = group.cause
        let name = line.task.map { "\(self.taskNames[$0] ?? "task \($0.suffix(6))"): " } ?? ""
        let rest = group.effects.count - EventList.effectLimit
        let effects = group.effects.prefix(EventList.effectLimit) + (rest > 0 ? ["\(rest) more"] : [])
        let title = rest > 0 ? group.effects.joined(separator: "; ") : nil
        let note = HTML("span", class: "note", with: ["title": title], "→ \(effects.joined(separator: "; "))")
        return HTML(
            "li", class: line.tone.rawValue, .time(group.begin),
            HTML(
                "span", .failure("\(name)\(group.text)\(.times(group.count))", of: group.party), self.notes(on: group),
                effects.isEmpty ? nil : note, self.link(to: group)))
    }

    // The outage that began with the event, or while it lasted, and that has the same party.
    private func link(to group: EventGroup) -> HTML? {
        guard group.cause.tone != .good, let party = group.party else { return nil }
        let first = group.begin - .seconds(5)
        let own = self.incidents.last { incident in
            incident.finding.party == party && first <= incident.start && incident.start <= group.end ?? group.last
        }
        return own.map { HTML("span", class: "note", HTML("a", with: ["href": "/incidents/\($0.id)"], "outage")) }
    }

    private func notes(on group: EventGroup) -> HTML? {
        var notes: [HTML] = []
        if let end = group.end {
            notes.append("until \(.time(end)) (\(end.since(group.begin).shortText))")
        } else if group.cause.rank < .requests, group.cause.tone == .bad {
            notes.append("for \(.ago(group.begin, at: self.now))")
        }
        if group.count > 1 { notes.append("first \(.time(group.first))") }
        return notes.joined(separator: "; ", in: "span", class: "note")
    }
}

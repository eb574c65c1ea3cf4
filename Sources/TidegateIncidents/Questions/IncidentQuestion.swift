package import TidegateCore

/// Which incidents are asked for.
package struct IncidentQuestion: Sendable, Hashable {
    /// Those that were not over at this time; nil for all.
    package var since: WallTime?
    /// Those that began before this time; nil for all.
    package var until: WallTime?
    package var party: FaultParty?
    package var scope: Incident.Scope?
    /// The name of a target or probe; also the incidents that it was affected by.
    package var name: String?
    package var isOpenOnly = false
    /// The incidents whose ids begin so, whatever their time; one whose whole id this is comes first.
    package var id: String?
    /// Let availability and totals count maintenance as any other outage.
    package var countsPlanned = false
    /// With what was measured.
    package var wantsEvidence = false
    /// With the sums and outages of all incidents, also of those that the answer has no room for.
    package var wantsTotals = true
    /// How many at most, the newest first.
    package var limit = 1000
    /// After how many bytes of JSON no further one becomes part of the answer.
    package var byteLimit = Int.max
    /// Those before this one in the order of the answer.
    package var after: String?

    /// All incidents.
    package init() {}

    /// True if an incident lasted in the time asked for, or was asked for by its id.
    package func covers(_ incident: Incident) -> Bool {
        if self.id != nil { return true }
        if let since, let end = incident.end, end <= since { return false }
        return self.until.map { incident.start < $0 } ?? true
    }

    /// True if a period is in the time asked for; plans are wanted of any time.
    package func covers(_ span: Coverage.Span) -> Bool {
        span.state == .planned
            || (self.since.map { span.end >= $0 } ?? true) && (self.until.map { span.start < $0 } ?? true)
    }

    /// True if an incident of that time is one of those asked for.
    package func wants(_ incident: Incident) -> Bool {
        if self.isOpenOnly, incident.end != nil { return false }
        return (self.party ?? incident.finding.party) == incident.finding.party
            && (self.scope ?? incident.scope) == incident.scope && self.id.map(incident.id.hasPrefix) ?? true
            && self.name.map(incident.affects) ?? true
    }

    /// True if an incident takes away from the availability asked for: that of a target, or of this host's way out.
    package func isDowntime(_ incident: Incident) -> Bool {
        self.name.map(incident.affects) ?? incident.scope.isHost
    }
}

/// The times of a party's incidents, before they are added up.
private struct Sum: Sendable {
    var total = IncidentAnswer.Total()
    var down: [(WallTime, WallTime)] = []
    var proven: [(WallTime, WallTime)] = []

    mutating func add(_ incident: Incident, from start: WallTime?, to end: WallTime) {
        self.total.count += 1
        self.total.longest = max(self.total.longest, incident.downtime(from: nil, to: end))
        guard incident.kind != .degraded else {
            self.total.degraded += incident.downtime(from: start, to: end)
            return
        }
        let times = incident.drops.map { drop in
            (start.map { max($0, drop.start) } ?? drop.start, min(drop.end ?? end, end))
        }
        self.down += times
        if incident.finding.certainty == .proven { self.proven += times }
    }
}

/// Incidents, what all of them add up to, and the time that Tidegate watched.
package struct IncidentAnswer: Sendable {
    /// The sum of the incidents of a party.
    package struct Total: Sendable, Hashable {
        package var count = 0
        package var down = Duration.zero
        /// How much of it is proven.
        package var proven = Duration.zero
        package var degraded = Duration.zero
        package var longest = Duration.zero
    }

    /// The newest first, as many as were asked for.
    package private(set) var incidents: [Incident] = []
    /// The last of them if there are more; nil otherwise.
    package private(set) var next: String?
    /// The sums of all incidents that were asked for, also of those beyond the limit; maintenance is left out.
    package var totals: [FaultParty: Total] {
        self.sums.mapValues { sum in
            var total = sum.total
            // Overlapping outages count once.
            (total.down, total.proven) = (TimeSet(sum.down).duration, TimeSet(sum.proven).duration)
            return total
        }
    }
    /// When it was down, whatever party and scope were asked for.
    package private(set) var outages: [Coverage.Outage] = []
    /// When Tidegate watched, as far as it was in the time asked for.
    package var spans: [Coverage.Span] = [] {
        didSet {
            self.plans = self.spans.filter { $0.state == .planned }.sorted { $0.start < $1.start }
        }
    }
    /// Planned maintenance, the first one first.
    package private(set) var plans: [Coverage.Span] = []
    /// The start of the first span that is known; nil without one.
    package var firstWatched: WallTime?
    package let question: IncidentQuestion
    private let now: WallTime
    private var sums: [FaultParty: Sum] = [:]
    private var bytes = 0
    /// The ids of all incidents of the time, wanted or not.
    package private(set) var ids: [String] = []
    /// False until the incident was added after which the answer begins.
    package private(set) var isReached: Bool
    /// True if the next incident that is wanted becomes part of the answer.
    package var hasRoom: Bool { self.isReached && self.next == nil }
    /// True if no further incident would change the answer.
    package var isComplete: Bool { self.next != nil && (!self.question.wantsTotals || self.question.id != nil) }

    /// An answer without an incident; what lasts is counted until `now`.
    package init(to question: IncidentQuestion, at now: WallTime) {
        (self.question, self.now) = (question, now)
        self.isReached = question.after == nil
    }

    /// Adds an incident that began before those added before; ``spans`` are complete by then.
    package mutating func add(_ incident: Incident) {
        guard self.question.covers(incident) else { return }
        self.ids.append(incident.id)
        var incident = incident
        if self.plans.contains(where: { $0.start <= incident.start && incident.start < $0.end }) {
            incident.note.isPlanned = true
        }
        if self.question.isDowntime(incident) {
            self.outages += incident.drops.map { drop in
                Coverage.Outage(
                    start: drop.start, end: drop.end, party: incident.finding.party,
                    isDegraded: incident.kind == .degraded,
                    isPlanned: incident.note.isPlanned && !self.question.countsPlanned)
            }
        }
        if self.question.wants(incident) {
            if self.question.countsPlanned || !incident.note.isPlanned { self.count(incident) }
            if self.hasRoom, self.incidents.count < self.question.limit, self.bytes < self.question.byteLimit {
                self.incidents.append(incident)
                let isBounded = self.question.byteLimit < .max
                self.bytes += isBounded ? self.json(of: incident, at: self.now).description.utf8.count : 0
            } else if self.isReached {
                self.next = self.incidents.last?.id
            }
        }
        if incident.id == self.question.after { self.isReached = true }
    }

    private mutating func count(_ incident: Incident) {
        let end = min(self.question.until ?? self.now, self.now)
        // In place: a copy of what has been added up would be made for each incident.
        self.sums[incident.finding.party, default: Sum()].add(incident, from: self.question.since, to: end)
    }
}

extension IncidentAnswer {
    /// The object of `incidents --json` and of `GET /api/v1/incidents`, for the time from `start` to `end`.
    package func json(from start: WallTime, to end: WallTime) -> JSONValue {
        let totals = self.totals
        return [
            "schema": 1, "from": .string(start.description), "to": .string(end.description),
            "recordedSince": .optional(self.firstWatched?.description),
            "incidents": .array(self.incidents.map { self.json(of: $0, at: end) }),
            "totals": .array(FaultParty.allCases.compactMap { party in totals[party]?.json(of: party) }),
            "coverage": self.coverage(from: start, to: end).json,
            "plans": .array(self.plans.map(\.json)), "next": .optional(self.next),
        ]
    }

    private func json(of incident: Incident, at time: WallTime) -> JSONValue {
        let json = incident.json(at: time)
        return self.question.wantsEvidence ? json.adding(.init("evidence", incident.evidence)) : json
    }

    /// A copy that does not say which networks this host was in.
    package var withoutIdentifiers: IncidentAnswer {
        var copy = self
        copy.incidents = self.incidents.map(\.withoutIdentifiers)
        return copy
    }

    /// How much was watched from `start` to `end`, and how much of it was down.
    package func coverage(from start: WallTime, to end: WallTime) -> Coverage {
        Coverage(from: start, to: end, spans: self.spans, outages: self.outages)
    }
}

extension IncidentAnswer.Total {
    fileprivate func json(of party: FaultParty) -> JSONValue {
        [
            "party": .string(party.rawValue), "incidents": .whole(self.count), "downSeconds": .seconds(self.down),
            "degradedSeconds": .seconds(self.degraded), "provenSeconds": .seconds(self.proven),
            "longestSeconds": .seconds(self.longest),
        ]
    }
}

extension IncidentAnswer {
    /// All that a page of an answer was made of, for commands that ask the daemon; a later page may lack the spans.
    package var records: JSONValue {
        let spans = self.spans.map { span -> JSONValue in
            [
                "id": .string(span.id), "state": .string(span.state.rawValue),
                "start": .integer(span.start.microseconds), "end": .integer(span.end.microseconds),
                "text": .string(span.text),
            ]
        }
        return [
            "incidents": .array(self.incidents.map(\.stored)),
            "evidence": .array(self.question.wantsEvidence ? self.incidents.map(\.evidence) : []),
            "spans": .array(spans), "firstWatched": .optional(self.firstWatched?.microseconds),
            "next": .optional(self.next),
        ]
    }

    /// Adds a page of ``records`` of the question's time; false for anything else.
    package mutating func add(records: JSONValue) -> Bool {
        guard case .array(let incidents)? = records["incidents"], case .array(let spans)? = records["spans"] else {
            return false
        }
        if !spans.isEmpty { self.spans = spans.compactMap(Coverage.Span.init) }
        if case .integer(let time)? = records["firstWatched"] { self.firstWatched = WallTime(microseconds: time) }
        let evidence = records["evidence"]?.elements ?? []
        for (place, json) in incidents.enumerated() {
            let own = place < evidence.count ? evidence[place] : .null
            guard let incident = Incident(stored: json, evidence: own) else { return false }
            self.add(incident)
        }
        return true
    }
}

extension Coverage.Span {
    fileprivate init?(_ json: JSONValue) {
        guard let id = json["id"]?.text, let state = json["state"]?.text.flatMap(State.init),
            case .integer(let start)? = json["start"], case .integer(let end)? = json["end"]
        else { return nil }
        self.init(
            id, state, from: WallTime(microseconds: start), to: WallTime(microseconds: end),
            text: json["text"]?.text ?? "")
    }
}

extension IncidentQuestion {
    /// Reads each part of a question by its name.
    ///
    /// `prefix` stands before a part's name in messages.
    package init(
        _ value: (String) -> String?, prefix: String = "", time: (String) throws(TextError) -> WallTime
    ) throws(TextError) {
        self.init()
        func parsed<Value>(_ name: String, _ parse: (String) throws(TextError) -> Value) throws(TextError) -> Value? {
            guard let text = value(name) else { return nil }
            do { return try parse(text) } catch { throw TextError("\(prefix)\(name): \(error)") }
        }
        (self.since, self.until) = (try parsed("since", time), try parsed("until", time))
        (self.party, self.scope) = (
            try parsed("party", FaultParty.init(word:)), try parsed("scope", Incident.Scope.init(word:))
        )
        self.name = value("target")
        if let since, let until, since >= until {
            throw TextError("\(prefix)since \(since) is not before \(prefix)until \(until)")
        }
    }

    /// The time that is asked for: up to now, and of the last 90 days unless `since` says otherwise.
    package mutating func bound(at now: WallTime) throws(TextError) -> (from: WallTime, to: WallTime) {
        let to = min(self.until ?? now, now)
        let from = self.since ?? to - Self.defaultSpan
        guard from < to else { throw TextError("since \(from) is not before \(to)") }
        (self.since, self.until) = (from, to)
        return (from, to)
    }

    /// As much as the bars of the page show.
    package static let defaultSpan = Duration.seconds(90 * 86_400)
}

/// The record of incidents: answers questions, and takes notes and plans.
package protocol IncidentRecord: Sendable {
    /// The recorded incidents that a question asks for.
    ///
    /// - Throws: ``TextError`` if they cannot be read.
    func answer(_ question: IncidentQuestion) async throws(TextError) -> IncidentAnswer
    /// Replaces what an operator wrote about an incident, and returns it once it is durable; nil if it is not known.
    func write(_ note: Incident.Note, about id: String) async throws(TextError) -> Incident?
    /// Plans maintenance, and returns the planned period.
    func plan(_ text: String, from start: WallTime, to end: WallTime) async throws(TextError) -> Coverage.Span
    /// Removes planned maintenance; false if it is not known.
    func removePlan(_ id: String) async throws(TextError) -> Bool
    /// The id of the open incident of this host's way out; nil without one.
    var openHostIncident: String? { get }
    /// The counts since the start of the process, for metrics.
    var totals: IncidentTotals { get }
}

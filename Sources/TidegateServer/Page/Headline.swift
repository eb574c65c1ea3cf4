internal import TidegateCore

/// The page's first line, which says by itself how things are: what, whose, since when, what to do, what waits.
struct Headline {
    let status: ReachabilityStatus
    /// The latest measurement, if it is about the present state.
    let diagnosis: HostDiagnosis?
    let tasks: TaskSample
    let record: HistoryRecord
    let targets: [TargetRow]
    let now: WallTime

    /// A part of the line.
    private enum Clause {
        case text(String)
        case since(WallTime)
    }

    private static let window = Duration.seconds(900)
    /// A measurement says nothing about now for longer than this.
    private static let freshness = Duration.seconds(60)

    var html: String {
        self.line(as: { HTML.escaped($0) }, time: { HTML.time($0) }, ago: { HTML.ago($0, at: self.now) })
    }

    /// The line without markup.
    var text: String {
        self.line(as: { $0 }, time: { "\($0.clockTime) UTC" }, ago: { $0.ago(at: self.now).shortText })
    }

    /// How it looks: only what was measured has a colour.
    var tone: EventLine.Tone {
        if self.failure != nil { return self.failureTone }
        if self.status.level == .unknown { return .plain }
        let requests = self.requests
        let failed = requests.failures.reduce(0) { $0 + $1.count }
        if failed > 2, failed * 10 >= requests.total * 9 { return .bad }
        if failed > 0 || !self.findings.isEmpty || self.targets.contains(where: \.isFailing) { return .wait }
        return self.isMeasuredSound ? .good : .plain
    }

    // A level says that something is limited; a measurement, that nothing works.
    private var failureTone: EventLine.Tone {
        switch self.status.level {
        case .portal: .wait
        case .limited: self.freshDiagnosis?.explanation.conclusion == .broken ? .bad : .wait
        case .unknown, .none, .local, .routed, .online: .bad
        }
    }

    private func line(
        as escaped: (String) -> String, time: (WallTime) -> String, ago: (WallTime) -> String
    ) -> String {
        let clauses = self.clauses.map { clause in
            switch clause {
            case .text(let text): escaped(text)
            case .since(let moment): "since \(time(moment)) (\(ago(moment)))"
            }
        }
        let separator = self.failure == nil ? ". " : "; "
        return clauses.joined(separator: separator) + "."
    }

    /// Since when something fails, if that is known; the line says it.
    var since: WallTime? { self.failure?.since }

    private var clauses: [Clause] {
        let waiting = self.waitingClause.map { [Clause.text($0)] } ?? []
        guard let failure = self.failure else {
            let findings = self.findings.isEmpty ? nil : "But " + self.findings.prefix(2).joined(separator: ", ")
            return [.text(self.soundClause)]
                + [findings, self.targetClause, self.requestClause].compactMap { $0.map(Clause.text) } + waiting
        }
        var clauses: [Clause] = [.text(failure.text)]
        if let party = failure.party { clauses.append(.text(party.description)) }
        if let since = failure.since { clauses.append(.since(since)) }
        if let advice = failure.advice { clauses.append(.text(Headline.clause(from: advice))) }
        return clauses + waiting
    }

    // MARK: What fails

    private struct Failure {
        var text: String
        var party: FaultParty?
        var since: WallTime?
        var advice: String?
    }

    private var failure: Failure? {
        if let diagnosis = self.freshDiagnosis, diagnosis.explanation.conclusion == .broken {
            let explanation = diagnosis.explanation
            let rung = explanation.firstFailure
            let text =
                explanation.cause?.description ?? rung?.evidence.first ?? rung?.reason?.description(ofLink: rung?.link)
            return Failure(
                text: text ?? "something fails", party: explanation.party,
                since: diagnosis.since ?? self.status.since,
                advice: explanation.advice.isEmpty ? nil : explanation.advice)
        }
        let verdict = self.status.global
        guard verdict.level != .unknown, verdict.level.tone == .bad || verdict.level.tone == .wait else { return nil }
        let text =
            VerdictDescriptions.phrase(verdict, among: self.status.links) ?? verdict.reason?.description
            ?? verdict.level.headline
        return Failure(text: text, party: verdict.reason?.party, since: self.status.since)
    }

    /// A sentence as a clause: without its capital letter and its full stop.
    private static func clause(from sentence: String) -> String {
        let body = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        // A name in capitals keeps them.
        guard let first = body.first, body.dropFirst().first?.isLowercase ?? false else { return body }
        return first.lowercased() + body.dropFirst()
    }

    // MARK: What works

    private var freshDiagnosis: HostDiagnosis? {
        self.diagnosis.flatMap { $0.time.ago(at: self.now) <= Headline.freshness ? $0 : nil }
    }

    private var isMeasuredSound: Bool { self.status.level == .online || self.highestAnswer != nil }

    /// The highest rung behind the route that a fresh measurement found to work.
    private var highestAnswer: Rung? {
        guard let explanation = self.freshDiagnosis?.explanation else { return nil }
        let working = explanation.ladders.flatMap(\.rungs).filter { $0.status == .ok }.map(\.rung)
        return [Rung.internet, .dns, .gateway].first(where: working.contains)
    }

    private var soundClause: String {
        switch (self.status.level, self.highestAnswer) {
        case (.online, _): "Online"
        case (.unknown, _):
            self.status.since == nil
                ? "Starting: the kernel's tables have not been read yet"
                : "The kernel's network state cannot be read; requests are not held"
        case (_, .internet): "The internet answers"
        case (_, .dns): "The resolver answers; the internet is not checked"
        case (_, .some): "The gateway answers; what is beyond it is not checked"
        case (_, nil): "There is a route; whether it leads anywhere is not checked"
        }
    }

    /// What is worth knowing although everything works.
    private var findings: [String] { self.freshDiagnosis?.explanation.findings ?? [] }

    private var targetClause: String? {
        let failing = self.targets.filter(\.isFailing)
        guard !failing.isEmpty else { return nil }
        let names = failing.prefix(2).map { row in
            let facts = [row.failureText, row.party?.description].compactMap(\.self).joined(separator: ", ")
            return facts.isEmpty ? row.name : "\(row.name) (\(facts))"
        }
        let more = failing.count > 2 ? " and \(failing.count - 2) more" : ""
        let verb = failing.count == 1 ? "is" : "are"
        return "\(failing.count) of \(self.targets.count) targets \(verb) not reached: "
            + names.joined(separator: ", ") + more
    }

    // MARK: Requests

    private var requests: (total: Int, failures: [RequestSlice.Failure]) {
        let oldest = RequestSlice.number(of: self.now - Headline.window)
        let slices = self.record.requests.slices.filter { $0.number > oldest }
        let failures = slices.flatMap(\.failures)
        let total = slices.reduce(0) { $0 + $1.requests }
        return (max(total, failures.reduce(0) { $0 + $1.count }), failures)
    }

    private var requestClause: String? {
        let (total, failures) = self.requests
        guard total > 0 else { return nil }
        let failed = failures.reduce(0) { $0 + $1.count }
        let period = "in \(self.period.shortText)"
        guard failed > 0 else { return "\(total) \(total == 1 ? "request" : "requests") \(period), none failed" }
        let parties = FaultParty.allCases.compactMap { party -> (party: FaultParty, count: Int, hosts: String)? in
            let own = failures.filter { $0.party == party }
            guard !own.isEmpty else { return nil }
            return (party, own.reduce(0) { $0 + $1.count }, Headline.hosts(of: own))
        }.sorted { $0.count > $1.count }
        let start = "\(failed) of \(total) requests failed \(period)"
        if parties.count == 1, let only = parties.first {
            return "\(start), \(failed == 1 ? "" : "all ")\(only.party)" + (only.hosts.isEmpty ? "" : ": \(only.hosts)")
        }
        let shares = parties.map { "\($0.count) \($0.party)" + ($0.hosts.isEmpty ? "" : " (\($0.hosts))") }
        return "\(start): \(shares.joined(separator: ", "))"
    }

    // Whole minutes: the figure must not change with every look.
    private var period: Duration {
        let start = self.record.requests.closed.first.map { WallTime(microseconds: $0.number * 15_000_000) }
        let life = self.now.since(min(self.record.start, start ?? self.record.start))
        return min(Headline.window, .seconds(60 * max(1, (life.components.seconds + 59) / 60)))
    }

    private static func hosts(of failures: [RequestSlice.Failure]) -> String {
        var counts: [String: Int] = [:]
        for failure in failures where !failure.subject.isEmpty { counts[failure.subject, default: 0] += failure.count }
        let hosts = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        let more = hosts.count > 2 ? " and \(hosts.count - 2) more" : ""
        return hosts.prefix(2).joined(separator: ", ") + more
    }

    private var waitingClause: String? {
        // What waits for its retry waits for the end of the outage.
        let reasons: [HoldReason] = [.path, .constraint] + (self.failure != nil ? [.backoff, .circuit] : [])
        let count = reasons.reduce(0) { $0 + (self.tasks.waiting[$1] ?? 0) }
        return count == 0 ? nil : count == 1 ? "1 task waits" : "\(count) tasks wait"
    }
}

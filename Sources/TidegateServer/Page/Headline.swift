internal import TidegateCore

/// The page's first lines: the state in one sentence, how long it has lasted, what to do, and counts.
struct Headline {
    let status: ReachabilityStatus
    /// The latest diagnosis of this host.
    let diagnosis: HostDiagnosis?
    let tasks: TaskSample
    let record: HistoryRecord
    let targets: [TargetRow]
    let now: WallTime

    private static let window = Duration.seconds(900)
    /// How long a measurement that found nothing wrong remains valid.
    private static let freshness = Duration.seconds(60)

    /// The markup: the sentence, then the start and the advice, then the counts.
    var html: HTML {
        let state = self.state
        let since: HTML? = state.since.map { "Since \(.time($0)) (\(.ago($0, at: self.now)))." }
        let detail: [HTML?] = [since, state.advice.map { "\($0)" }]
        let chips = self.chips.map { HTML("li", "\($0)") }
        return """
            \(HTML("h1", "\(state.sentence)"))\(detail.compactMap(\.self).joined(separator: " ", in: "p"))\
            \(chips.joined(in: "ul"))
            """
    }

    // MARK: The sentence

    struct State {
        var sentence: String
        /// The tone of the sentence: only measured states have a colour.
        var tone: EventLine.Tone
        /// When the failure or the check began; nil if unknown or if the line already says it.
        var since: WallTime?
        var advice: String?
    }

    // An outage of this host has priority over its targets, and those over its requests.
    var state: State {
        if let diagnosis = self.diagnosis, diagnosis.state == .checking, self.status.level >= .routed {
            return State(sentence: diagnosis.sentence, tone: .wait, since: diagnosis.since)
        }
        return self.outage ?? self.failingTargets ?? self.slow ?? self.failingRequests ?? self.sound
    }

    // What is slow of the way out has priority over slow targets.
    private var slow: State? {
        let slow = self.targets.filter { $0.trouble != nil }
        let first = slow.first.flatMap { row in row.trouble.map { (row.name, $0) } }
        guard let (name, trouble) = self.status.quality?.network.map({ ("", $0) }) ?? first else { return nil }
        let cause = Cause.slow(trouble.cause)
        let sentence =
            name.isEmpty
            ? Sentence.fitting("slow: \(cause)") : Self.first("\(name) is slow: \(cause).", or: "\(name) is slow.")
        return State(
            sentence: sentence, tone: .wait, since: trouble.since,
            advice: trouble.advice.isEmpty ? nil : trouble.advice)
    }

    private var outage: State? {
        if let diagnosis = self.diagnosis, diagnosis.isBroken {
            let explanation = diagnosis.explanation
            return State(
                sentence: diagnosis.sentence, tone: .bad, since: diagnosis.since ?? self.status.since,
                advice: explanation.advice.isEmpty ? nil : explanation.advice)
        }
        let verdict = self.status.global
        // A failed internet check is only a finding if the diagnosis found a working way out.
        if verdict.level >= .routed, self.diagnosis?.state == .decided { return nil }
        guard verdict.level != .unknown, verdict.level.tone == .bad || verdict.level.tone == .wait else { return nil }
        let text = VerdictDescriptions.phrase(verdict, among: self.status.links) ?? verdict.reason?.description
        let clause = text.map { Sentence.led(by: verdict.reason?.party.description ?? "", $0) }
        return State(
            sentence: Sentence.fitting(clause ?? verdict.level.headline), tone: verdict.level.tone,
            since: self.status.since)
    }

    private var failingTargets: State? {
        let failing = self.targets.filter(\.isFailing)
        guard let first = failing.first else { return nil }
        let since = failing.compactMap(\.since).min()
        let sentence = failing.count == 1 ? Self.sentence(about: first) : self.sentence(about: failing)
        let advice = Set(failing.map(\.advice)).count == 1 ? first.advice : nil
        return State(sentence: sentence, tone: .wait, since: since, advice: advice)
    }

    private static func sentence(about target: TargetRow) -> String {
        let (party, text) = (target.party ?? .unknown, target.failureText ?? "no answer")
        let clause = "\(target.name) is not reached: \(text)"
        return Self.first("\(clause) (\(party)).", or: Sentence.fitting(Sentence.led(by: party.description, clause)))
    }

    // The party comes first if all have the same one, else behind each name.
    private func sentence(about failing: [TargetRow]) -> String {
        let parties = failing.map { $0.party ?? .unknown }
        let common = parties.allSatisfy { $0 == parties[0] } ? parties[0] : nil
        let names = zip(failing, parties).map { common == nil ? "\($0.name) (\($1))" : $0.name }
        let count = "\(failing.count) of \(self.targets.count) targets are not reached"
        let clauses = [names.joined(separator: ", "), "\(names[0]) and \(names.count - 1) more"].map { names in
            common.map { "\($0): \(count) (\(names))" } ?? "\(count): \(names)"
        }
        return Sentence.fitting(Self.first(clauses[0] + ".", or: clauses[1]))
    }

    private var failingRequests: State? {
        let (total, failures) = self.requests
        let failed = failures.reduce(0) { $0 + $1.count }
        guard failed > 2, failed * 10 >= total * 9, let clause = self.requestClause else { return nil }
        return State(
            sentence: Self.first(clause + ".", or: "\(failed) of \(total) requests failed."), tone: .bad)
    }

    private var sound: State {
        let isQuiet = self.findings.isEmpty && self.requests.failures.isEmpty
        let isMeasured = self.status.level == .online || self.highestAnswer != nil
        let tone: EventLine.Tone =
            self.status.level == .unknown ? .plain : !isQuiet ? .wait : isMeasured ? .good : .plain
        return State(sentence: self.soundSentence, tone: tone)
    }

    private static func first(_ sentence: String, or shorter: String) -> String {
        sentence.count < Sentence.maxLength ? sentence : shorter
    }

    /// The highest rung above the route that a fresh measurement found to work.
    private var highestAnswer: Rung? {
        guard let diagnosis = self.diagnosis, diagnosis.time.ago(at: self.now) <= Headline.freshness else { return nil }
        let working = diagnosis.explanation.ladders.flatMap(\.rungs).filter { $0.status == .ok }.map(\.rung)
        return [Rung.internet, .dns, .gateway].first(where: working.contains)
    }

    private var soundSentence: String {
        guard let family = self.diagnosis?.explanation.failingFamilies.first else { return self.working }
        return "\(self.working.dropLast()), but \(family.name) does not work."
    }

    private var working: String {
        switch (self.status.level, self.highestAnswer) {
        case (.online, _): "Online."
        case (.unknown, _):
            self.status.since == nil
                ? "Starting: the kernel's tables have not been read yet."
                : "The kernel's network state cannot be read; requests are not held."
        case (_, .internet): "The internet answers."
        case (_, .dns): "The resolver answers; the internet is not checked."
        case (_, .some): "The gateway answers; nothing beyond it is checked."
        case (_, nil): "There is a route; nothing beyond it is checked."
        }
    }

    // MARK: Counts

    /// Facts worth knowing although everything works.
    private var findings: [String] {
        self.diagnosis.map { $0.isBroken ? [] : $0.explanation.findings } ?? []
    }

    private var chips: [String] {
        let failing = self.targets.count(where: \.isFailing)
        let targets = failing == 0 ? nil : "\(failing) of \(self.targets.count) targets not reached"
        return self.findings.prefix(2) + [targets, self.requestClause, self.waitingClause].compactMap(\.self)
    }

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

    // Whole minutes, so that the figure does not change on every reload.
    private var period: Duration {
        let start = self.record.requests.closed.first?.start ?? self.record.start
        let life = self.now.since(min(self.record.start, start))
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
        // During an outage, a task waiting for its retry in fact waits for the outage to end.
        let reasons: [HoldReason] = [.path, .constraint] + (self.outage != nil ? [.backoff, .circuit] : [])
        let count = reasons.reduce(0) { $0 + (self.tasks.waiting[$1] ?? 0) }
        return count == 0 ? nil : count == 1 ? "1 task waits" : "\(count) tasks wait"
    }
}

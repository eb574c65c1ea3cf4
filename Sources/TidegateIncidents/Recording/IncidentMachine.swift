internal import TidegateCore

/// Turns verdicts, checks and probes into incidents, and counts the time that Tidegate watches.
///
/// Its inputs have been debounced. One outage is one incident: a target or probe that fails for the same party as this
/// host's way out is affected by that incident, and has none of its own. So its failure waits for the diagnosis of this
/// host if that may have the same cause.
struct IncidentMachine {
    /// A moment on each clock.
    struct Moment: Sendable, Hashable {
        var wall: WallTime
        var monotonic: MonotonicTime
        /// How long the machine has been suspended since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC (clock_gettime(2)).
        var suspended: Duration
    }

    enum Input {
        /// This host's diagnosis: nil while the way out works.
        case host(Incident.Scope, Incident.Finding, since: WallTime, Incident.Network?)
        case hostWorks(evidence: JSONValue)
        case target(String, Incident.Finding?, since: WallTime)
        case probe(String, Incident.Finding?)
        /// This host's way out, or a target, is slow.
        case slow(Incident.Scope, String?, Incident.Finding, since: WallTime, Incident.Network?)
        /// It is not slow any more.
        case slowEnded(Incident.Scope, String?, Incident.EndReason)
        /// A way out that is not used alone; nil if it works.
        case uplink(String, Incident.Finding?, since: WallTime)
        /// It is not asked any more.
        case uplinkLeft(String, Incident.EndReason)
        /// A probe that this host or its network made inconclusive.
        case probeLeftOut(String)
        case attemptFailed(FaultParty)
        case connectionsFailed(FaultParty, count: Int)
        /// The configuration does not have the probe any more.
        case probeRemoved(String)
        case note(Incident, Incident.Note)
        case beat
        case stop
    }

    enum Effect: Sendable, Hashable {
        case store(IncidentChange)
        case publish(IncidentEvent.Kind, Incident)
    }

    /// The part of the network that is down.
    struct Subject: Sendable, Hashable {
        var scope: Incident.Scope
        var name: String?
        /// Slowness and an outage are two subjects: one may follow from the other.
        var isSlow = false

        // The way out is one subject, whatever is wrong with it.
        static let host = Subject(scope: .network)

        init(scope: Incident.Scope, name: String? = nil, isSlow: Bool = false) {
            (self.scope, self.name, self.isSlow) = (scope.isHost ? .network : scope, name, isSlow)
        }

        init(_ incident: Incident) {
            self.init(scope: incident.scope, name: incident.name, isSlow: incident.kind == .degraded)
        }

        /// True if its failure may be part of this host's outage.
        var mayBePart: Bool { self != .host && self.scope != .uplink && !self.isSlow }
    }

    /// A failure that lasts.
    private struct Failure {
        var scope: Incident.Scope
        var finding: Incident.Finding
        var since: WallTime
        var network: Incident.Network?
        /// When it becomes an incident, unless it is part of one by then.
        var opens: MonotonicTime
        var isPart = false
        /// False while nothing has reported it since this host's own outage.
        var isFresh = true
    }

    /// A target's time that is not counted yet.
    private struct Progress {
        /// The watched time up to which all is counted.
        var until: Duration
        /// How much of the time since then it was down.
        var down = Duration.zero
    }

    /// Three drops within this time are one intermittent incident.
    private static let dropTime = Duration.seconds(300)
    private static let dropLimit = 3
    /// An intermittent incident ends after this time without a drop.
    private static let cleanTime = Duration.seconds(180)
    private static let beatTime = Duration.seconds(60)
    private static let openBeatTime = Duration.seconds(10)
    /// A diagnosis of this host is decided within this time.
    private static let decisionTime = Duration.seconds(5)
    /// A target's outage that began so long before this host's has another cause.
    private static let settleTime = Duration.seconds(30)
    // A clock that is only slewed moves less between two beats.
    private static let stepLimit = Duration.seconds(1)

    private(set) var open: [Subject: Incident] = [:]
    /// The counts; what is down is counted until the last moment.
    var totals: IncidentTotals {
        var totals = self.counted
        totals.open = self.open.values.reduce(into: [:]) { $0[IncidentTotals.Key($1), default: 0] += 1 }
        return totals
    }
    private var counted = IncidentTotals()
    private var progress: [String: Progress] = [:]
    private var failures: [Subject: Failure] = [:]
    // Open incidents with counts that are not stored yet.
    private var unsaved: Set<Subject> = []
    // Ended incidents that the next drop may join, and those that another one may continue.
    private var recent: [Subject: [Incident]] = [:]
    private var interrupted: [Subject: String] = [:]
    /// The watched time until now.
    private(set) var span: Coverage.Span
    // When the last drop ended in the span.
    private var lastEnd: WallTime?
    private var last: Moment
    private var lastBeat: MonotonicTime
    private let makeID: @Sendable (WallTime) -> String
    private var effects: [Effect] = []

    /// Begins to watch; the effects come with the first input.
    ///
    /// `left` are incidents that an earlier process left open, or that ended with it. They ended at `lastBeat`, when it
    /// last watched.
    init(
        at now: Moment, left: [Incident] = [], lastBeat: WallTime? = nil,
        makeID: @escaping @Sendable (WallTime) -> String
    ) {
        (self.last, self.lastBeat, self.makeID) = (now, now.monotonic, makeID)
        self.span = Coverage.Span(makeID(now.wall), .watched, from: now.wall, to: now.wall)
        self.effects.append(.store(.cover(self.span)))
        for incident in left {
            if incident.end == nil {
                self.interrupt(incident, at: lastBeat ?? incident.start, .stopped)
            } else {
                self.interrupted[Subject(incident)] = incident.id
            }
        }
    }

    /// The changes of one input are one transaction.
    mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
        self.advance(to: now)
        switch input {
        case .host(let scope, let finding, let since, let network):
            let before = self.open[.host]?.id
            self.failed(
                .host,
                Failure(scope: scope, finding: finding, since: since, network: network, opens: now.monotonic))
            if before == nil || before == self.open[.host]?.id {
                for subject in self.failures.keys where subject.mayBePart { self.sort(subject) }
            } else {
                self.reconsider()
            }
        case .hostWorks(let evidence): self.recovered(.host, evidence)
        case .target(let name, let finding, let since):
            if self.progress[name] == nil { self.progress[name] = Progress(until: self.counted.watched) }
            self.report(Subject(scope: .target, name: name), finding, since: since)
            if finding == nil { self.countUp(name) }
        case .probe(let name, let finding):
            self.report(Subject(scope: .probe, name: name), finding, since: now.wall)
        case .slow(let scope, let name, let finding, let since, let network):
            let failure = Failure(
                scope: scope, finding: finding, since: since, network: network, opens: now.monotonic)
            self.failed(Subject(scope: scope, name: name, isSlow: true), failure)
        case .slowEnded(let scope, let name, let reason):
            self.forget(Subject(scope: scope, name: name, isSlow: true), reason)
        case .uplink(let name, let finding?, let since):
            self.failed(
                Subject(scope: .uplink, name: name),
                Failure(scope: .uplink, finding: finding, since: since, opens: now.monotonic))
        case .uplink(let name, nil, since: _): self.recovered(Subject(scope: .uplink, name: name), .null)
        case .uplinkLeft(let name, let reason): self.forget(Subject(scope: .uplink, name: name), reason)
        case .probeLeftOut(let name):
            self.open[.host]?.probes.insert(name)
            self.unsaved.insert(.host)
        case .attemptFailed(let party): self.count(party) { $0.attempts += 1 }
        case .connectionsFailed(let party, let count): self.count(party) { $0.connections += count }
        case .probeRemoved(let name): self.forget(Subject(scope: .probe, name: name), .stopped)
        case .note(let incident, let note): self.write(note, about: incident)
        case .beat: break
        case .stop:
            for subject in self.failures.keys where self.isWaiting(subject) { self.openNow(subject) }
            for subject in self.open.keys { self.close(subject, at: now.wall, .stopped) }
            self.beat()
        }
        defer { self.effects = [] }
        return self.effects
    }

    private mutating func forget(_ subject: Subject, _ reason: Incident.EndReason) {
        self.failures[subject] = nil
        self.close(subject, at: self.last.wall, reason)
    }

    private mutating func write(_ note: Incident.Note, about incident: Incident) {
        if let subject = self.open.first(where: { $0.value.id == incident.id })?.key {
            self.open[subject]?.note = note
            return self.save(subject)
        }
        var incident = incident
        incident.note = note
        self.recent = self.recent.mapValues { $0.map { $0.id == incident.id ? incident : $0 } }
        self.effects.append(.store(.save(incident)))
    }

    // MARK: The clocks

    private mutating func advance(to now: Moment) {
        let elapsed = now.monotonic - self.last.monotonic
        let slept = now.suspended - self.last.suspended
        let step = now.wall.since(self.last.wall) - elapsed
        if slept > Self.stepLimit || elapsed > Self.beatTime {
            // Nothing was seen since the last input: the machine slept, or this process did not run (SIGSTOP, freezer).
            self.resume(at: now, from: slept > Self.stepLimit ? .suspended : .stopped)
        } else {
            if step < .zero - Self.stepLimit || step > Self.stepLimit { self.move(by: step) }
            self.elapse(elapsed, to: now)
        }
        self.last = now
        let time = self.open.isEmpty ? Self.beatTime : Self.openBeatTime
        if now.monotonic - self.lastBeat >= time { self.beat() }
        for (subject, failure) in self.failures where failure.opens <= now.monotonic && self.isWaiting(subject) {
            self.openNow(subject)
        }
        for (subject, incident) in self.open where incident.kind == .intermittent && !incident.isDown {
            guard let end = incident.drops.last?.end, now.wall.since(end) >= Self.cleanTime else { continue }
            self.close(subject, at: end, .recovered)
        }
    }

    private mutating func elapse(_ elapsed: Duration, to now: Moment) {
        self.counted.watched += elapsed
        self.span.end = max(self.span.end, now.wall)
        for incident in self.open.values where incident.isDown { self.count(elapsed, of: incident) }
    }

    // The clock is right now: what lasts is moved to it, and what is over stays.
    private mutating func move(by step: Duration) {
        for (subject, incident) in self.open where !incident.isDown {
            self.close(subject, at: incident.drops.last?.end ?? self.last.wall, .recovered)
        }
        if let tail = self.lastEnd {
            self.span.end = tail
            self.effects.append(.store(.cover(self.span)))
            self.span = Coverage.Span(self.makeID(tail + step), .watched, from: tail, to: self.last.wall)
            self.lastEnd = nil
        }
        self.span.start += step
        self.span.end += step
        for (subject, incident) in self.open {
            var moved = incident
            moved.move(by: step)
            self.open[subject] = moved
            self.save(subject)
        }
        for subject in self.failures.keys { self.failures[subject]?.since += step }
        self.recent = [:]
        self.beat()
    }

    private mutating func resume(at now: Moment, from reason: Incident.EndReason) {
        self.beat()
        if reason == .suspended {
            let sleep = Coverage.Span(self.makeID(now.wall), .suspended, from: self.span.end, to: now.wall)
            self.effects.append(.store(.cover(sleep)))
        }
        for (_, incident) in self.open { self.interrupt(incident, at: self.span.end, reason) }
        (self.open, self.last) = ([:], now)
        self.span = Coverage.Span(self.makeID(now.wall), .watched, from: now.wall, to: now.wall)
        self.lastEnd = nil
        self.effects.append(.store(.cover(self.span)))
        // A subject stays down until it is found to work.
        for (subject, failure) in self.failures where !subject.mayBePart {
            self.start(subject, failure, at: now.wall)
        }
        self.reconsider()
    }

    private mutating func beat() {
        self.lastBeat = self.last.monotonic
        for subject in self.unsaved { self.save(subject) }
        self.effects.append(.store(.cover(self.span)))
    }

    // MARK: Failures

    private mutating func report(_ subject: Subject, _ finding: Incident.Finding?, since: WallTime) {
        guard let finding else { return self.recovered(subject, .null) }
        let opens = self.last.monotonic + (finding.party == .theirs ? .zero : Self.decisionTime)
        let old = self.failures[subject]
        // A failure with another reason than this host's outage begins now.
        let begin = old.map { $0.isPart ? self.last.wall : $0.since } ?? since
        self.failures[subject] = Failure(
            scope: subject.scope, finding: finding, since: begin,
            opens: old.map { $0.isFresh ? min($0.opens, opens) : opens } ?? opens, isPart: old?.isPart ?? false)
        self.sort(subject)
    }

    /// A failure of a target or probe: part of this host's outage, or an outage of its own.
    private mutating func sort(_ subject: Subject) {
        guard var failure = self.failures[subject] else { return }
        if let host = self.open[.host], host.isDown, failure.finding.party == host.finding.party {
            self.join(subject, failure, host)
        } else if self.open[subject] != nil || failure.isFresh && failure.opens <= self.last.monotonic {
            failure.isPart = false
            self.failed(subject, failure)
        }
    }

    private mutating func join(_ subject: Subject, _ failure: Failure, _ before: Incident) {
        var (host, counted) = (before, Duration.zero)
        if var own = self.open[subject] {
            // An outage that began long before has another cause.
            guard own.start >= host.start - Self.settleTime, own.kind == .down else { return }
            counted = own.downtime(at: self.last.wall)
            self.open[subject] = nil
            (own.end, own.endReason) = (self.last.wall, .merged)
            self.effects += [.store(.remove(id: own.id)), .publish(.closed, own)]
        }
        self.failures[subject]?.isPart = true
        guard let name = subject.name else { return }
        self.backdate(&host, to: failure.since)
        let isNew =
            subject.scope == .target
            ? host.targets.insert(name).inserted : host.probes.insert(name).inserted
        self.open[.host] = host
        if isNew, subject.scope == .target, let drop = host.drops.last {
            self.countDown(name, host.finding.party, max(.zero, self.last.wall.since(drop.start) - counted))
        }
        if isNew || counted > .zero { self.save(.host) }
    }

    // A target may notice an outage before this host's diagnosis does.
    private mutating func backdate(_ host: inout Incident, to start: WallTime) {
        let start = max(start, self.span.start, self.recent[.host]?.last?.end ?? self.span.start)
        guard host.continues == nil, host.dropCount == 1, start < host.start,
            start >= host.start - Self.settleTime
        else { return }
        self.count(host.start.since(start), of: host)
        host.backdate(to: start)
    }

    /// True if a failure that was reported is neither an incident nor part of one.
    private func isWaiting(_ subject: Subject) -> Bool {
        self.open[subject] == nil && self.failures[subject].map { !$0.isPart && $0.isFresh } ?? false
    }

    private mutating func openNow(_ subject: Subject) {
        if let failure = self.failures[subject] { self.failed(subject, failure) }
    }

    // After this host's outage only what a target or probe reports from now on says that it still fails.
    private mutating func reconsider() {
        for subject in self.failures.keys where subject.mayBePart {
            guard self.open[subject] == nil else { continue }
            self.failures[subject]?.since = self.last.wall
            self.failures[subject]?.isPart = false
            self.failures[subject]?.isFresh = false
            self.sort(subject)
        }
    }

    private mutating func failed(_ subject: Subject, _ failure: Failure) {
        let before = self.failures.updateValue(failure, forKey: subject)?.since ?? failure.since
        guard var incident = self.open[subject] else { return self.start(subject, failure, at: failure.since) }
        let (old, new) = (incident.finding, failure.finding)
        if !incident.isDown, old.party != new.party, new.party != .unknown {
            self.close(subject, at: incident.drops.last?.end ?? self.last.wall, .recovered)
            return self.start(subject, failure, at: failure.since)
        } else if !incident.isDown {
            incident.append(
                [Incident.Drop(start: max(failure.since, incident.drops.last?.end ?? failure.since))], count: 1)
        } else if old.party == new.party || old.party == .unknown && failure.since <= before, old != new {
            // More is known of the same outage; what began later is another one.
            (incident.finding, incident.scope) = (new, failure.scope)
            if old.evidence != .null { (incident.finding.evidence, incident.worst) = (old.evidence, new.evidence) }
        } else if old.party != new.party, new.party != .unknown {
            // A diagnosis that only names another party keeps its start.
            let drop = incident.drops.last?.start ?? incident.start
            let change = failure.since > before ? min(max(failure.since, drop), self.last.wall) : self.last.wall
            self.close(subject, at: change, .partyChanged)
            self.interrupted[subject] = incident.id
            return self.start(subject, failure, at: change, counted: true)
        }
        guard incident != self.open[subject] else { return }
        let isNews = incident.finding.party != old.party || incident.scope != self.open[subject]?.scope
        self.open[subject] = incident
        self.save(subject)
        if isNews { self.effects.append(.publish(.changed, incident)) }
    }

    /// `counted` if the time since `start` is counted already.
    private mutating func start(
        _ subject: Subject, _ failure: Failure, at start: WallTime, counted: Bool = false
    ) {
        // Nothing is known of the time before.
        let start = min(max(start, self.span.start), self.last.wall)
        var incident = Incident(
            id: self.makeID(start), kind: subject.isSlow ? .degraded : .down, failure.scope, name: subject.name,
            failure.finding, start: start)
        incident.network = failure.network
        let continued = self.interrupted.removeValue(forKey: subject)
        // An outage that was not watched meanwhile may have been another one.
        if !subject.isSlow && subject.scope != .uplink || start.since(self.span.start) <= Self.dropTime {
            incident.continues = continued
        }
        let recent = (self.recent.removeValue(forKey: subject) ?? []).filter {
            start.since($0.start) <= Self.dropTime && $0.finding.party == failure.finding.party
        }
        var kind = IncidentEvent.Kind.opened
        if recent.count + 1 >= Self.dropLimit, var first = recent.first {
            for other in recent.dropFirst() {
                first.merge(other)
                self.effects.append(.store(.remove(id: other.id)))
            }
            first.append(incident.drops, count: 1)
            (first.kind, first.end, first.endReason) = (.intermittent, nil, nil)
            (incident, kind) = (first, .changed)
        } else if !recent.isEmpty {
            self.recent[subject] = recent
        }
        self.open[subject] = incident
        self.beat()
        self.counted.begun[IncidentTotals.Key(incident), default: 0] += 1
        // The time before it was noticed.
        if !counted { self.count(self.last.wall.since(start), of: incident) }
        self.save(subject)
        self.effects.append(.publish(kind, incident))
    }

    private mutating func recovered(_ subject: Subject, _ evidence: JSONValue) {
        // An outage that is over before it could become an incident is one.
        if self.isWaiting(subject) { self.openNow(subject) }
        self.interrupted[subject] = nil
        guard self.failures.removeValue(forKey: subject) != nil else { return }
        self.open[subject]?.recovery = evidence
        guard let incident = self.open[subject] else { return }
        if incident.kind == .intermittent {
            self.open[subject]?.endDrop(at: self.last.wall)
            self.noteEnd(self.last.wall)
            self.save(subject)
        } else {
            self.close(subject, at: self.last.wall, .recovered)
            self.recent[subject, default: []].append(incident.ended(at: self.last.wall, .recovered, evidence))
        }
        if subject == .host { self.reconsider() }
    }

    private mutating func close(_ subject: Subject, at end: WallTime, _ reason: Incident.EndReason) {
        guard let incident = self.open.removeValue(forKey: subject) else { return }
        self.finish(incident, at: end, reason)
    }

    /// Ends an incident that may go on unseen.
    private mutating func interrupt(_ incident: Incident, at end: WallTime, _ reason: Incident.EndReason) {
        self.interrupted[Subject(incident)] = incident.id
        self.finish(incident, at: end, reason)
    }

    private mutating func finish(_ incident: Incident, at end: WallTime, _ reason: Incident.EndReason) {
        let ended = incident.ended(at: end, reason, incident.recovery)
        self.noteEnd(end)
        self.effects += [.store(.save(ended)), .publish(.closed, ended)]
    }

    // A stored span ends within the time that is known to be watched.
    private mutating func noteEnd(_ end: WallTime) {
        if end >= self.span.start { self.lastEnd = max(end, self.lastEnd ?? end) }
        self.beat()
    }

    private mutating func save(_ subject: Subject) {
        self.unsaved.remove(subject)
        if let incident = self.open[subject] { self.effects.append(.store(.save(incident))) }
    }

    // MARK: Counts

    /// Counts a failure for the incident of this host's way out, if it has the same party.
    private mutating func count(_ party: FaultParty, _ change: (inout Incident) -> Void) {
        guard var host = self.open[.host], host.finding.party == party else { return }
        change(&host)
        self.open[.host] = host
        self.unsaved.insert(.host)
    }

    private mutating func count(_ time: Duration, of incident: Incident) {
        self.counted.down[IncidentTotals.Key(incident), default: .zero] += time
        // A slow target is up.
        guard incident.kind != .degraded else { return }
        if incident.scope == .target, let name = incident.name {
            return self.countDown(name, incident.finding.party, time)
        }
        for name in incident.targets where self.failures[Subject(scope: .target, name: name)]?.isPart == true {
            self.countDown(name, incident.finding.party, time)
        }
    }

    private mutating func countDown(_ target: String, _ party: FaultParty, _ time: Duration) {
        guard self.progress[target] != nil else { return }
        self.progress[target]?.down += time
        self.counted.targets[target, default: IncidentTotals.Account()].down[party, default: .zero] += time
    }

    // The time up is counted when a check confirms it, so that a start in the past takes nothing back.
    private mutating func countUp(_ target: String) {
        guard let progress = self.progress[target] else { return }
        let up = max(.zero, self.counted.watched - progress.until - progress.down)
        self.counted.targets[target, default: IncidentTotals.Account()].up += up
        self.progress[target] = Progress(until: self.counted.watched)
    }
}

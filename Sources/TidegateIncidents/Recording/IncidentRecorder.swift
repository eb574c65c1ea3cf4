internal import Synchronization
internal import TidegateAttribution
package import TidegateCore

/// Records incidents of the events of a bus, in a journal, or without one in memory.
package final class IncidentRecorder: EventSink, IncidentRecord {
    private struct State {
        var machine: IncidentMachine
        /// Without a journal.
        var memory = IncidentMemory()
        /// Changes that could not be written; they are sent again with the next ones.
        var unwritten: [IncidentChange] = []
        var network: Incident.Network?
    }

    private let journal: (any IncidentJournal)?
    private let names: [Target: String]
    private let unchecked: Set<Target>
    private let time: any TimeSource
    private let suspended: @Sendable () -> Duration
    private let state: Mutex<State>
    private let events: AsyncStream<IncidentEvent>
    private let publish: AsyncStream<IncidentEvent>.Continuation

    /// How often ``beat()`` wants to be called: much more often than a beat is stored.
    package static let pause = Duration.seconds(5)

    /// A recorder that watches from now on; `names` are those of the configured targets, some without a check.
    package init(
        journal: (any IncidentJournal)?, names: [Target: String], unchecked: Set<Target> = [], time: any TimeSource,
        suspended: @escaping @Sendable () -> Duration
    ) {
        (self.journal, self.names, self.unchecked) = (journal, names, unchecked)
        (self.time, self.suspended) = (time, suspended)
        // Unbounded: incidents are few.
        (self.events, self.publish) = AsyncStream.makeStream()
        let left = journal?.leftIncidents() ?? (incidents: [], lastBeat: nil)
        let now = IncidentMachine.Moment(wall: time.wall(), monotonic: time.monotonic(), suspended: suspended())
        let machine = IncidentMachine(at: now, left: left.incidents, lastBeat: left.lastBeat, makeID: Self.makeID)
        self.state = Mutex(State(machine: machine))
        self.handle(.beat)
    }

    private static func makeID(at time: WallTime) -> String {
        var generator = SystemRandomNumberGenerator()
        return TaskID(at: time, using: &generator).description
    }

    /// Calls `body` for each event of an incident, until ``stop()``.
    package func run(_ body: (IncidentEvent) -> Void) async { for await event in self.events { body(event) } }

    /// Notes that Tidegate still watches.
    package func beat() { self.handle(.beat) }

    /// Ends what is open.
    package func stop() {
        self.handle(.stop)
        self.publish.finish()
    }

    package func receive(_ event: Event) {
        if let input = self.input(of: event) { self.handle(input) }
    }

    private func handle(_ input: IncidentMachine.Input) {
        self.state.withLock { state in
            let now = IncidentMachine.Moment(
                wall: self.time.wall(), monotonic: self.time.monotonic(), suspended: self.suspended())
            // Within the lock, so that their order stays.
            var changes: [IncidentChange] = []
            for effect in state.machine.handle(input, at: now) {
                switch effect {
                case .publish(let kind, let incident): self.publish.yield(IncidentEvent(kind, incident))
                case .store(let change): changes.append(change)
                }
            }
            self.apply(changes, to: &state)
        }
    }

    // MARK: Questions

    package var openHostIncident: String? { self.state.withLock { $0.machine.open[.host]?.id } }

    package var totals: IncidentTotals { self.state.withLock { $0.machine.totals } }

    package func answer(_ question: IncidentQuestion) async throws(TextError) -> IncidentAnswer {
        let now = self.time.wall()
        guard let journal else { return self.state.withLock { $0.memory.answer(question, at: now) } }
        self.handle(.beat)
        let newer = self.state.withLock { state in
            IncidentsNow(
                open: Dictionary(uniqueKeysWithValues: state.machine.open.values.map { ($0.id, $0) }),
                span: state.machine.span)
        }
        return try await journal.incidents(question, at: now, newer: newer)
    }

    package func plan(
        _ text: String, from start: WallTime, to end: WallTime
    ) async throws(TextError) -> Coverage.Span {
        let span = Coverage.Span(Self.makeID(at: self.time.wall()), .planned, from: start, to: end, text: text)
        self.state.withLock { self.apply([.cover(span)], to: &$0) }
        try await self.flush()
        return span
    }

    package func removePlan(_ id: String) async throws(TextError) -> Bool {
        var question = IncidentQuestion()
        // Plans are wanted of any time, and incidents of none.
        question.since = self.time.wall()
        guard try await self.answer(question).plans.contains(where: { $0.id == id }) else { return false }
        self.state.withLock { self.apply([.remove(id: id)], to: &$0) }
        try await self.flush()
        return true
    }

    private func apply(_ changes: [IncidentChange], to state: inout State) {
        guard !changes.isEmpty else { return }
        guard let journal else { return changes.forEach { state.memory.apply($0) } }
        let all = state.unwritten + changes
        state.unwritten = []
        journal.record(all) { isWritten in
            guard !isWritten else { return }
            // The newest: a disk that stays full must not fill the memory.
            self.state.withLock { $0.unwritten = Array((all + $0.unwritten).suffix(Self.unwrittenLimit)) }
        }
    }

    private static let unwrittenLimit = 2000

    /// Waits until all changes before are written.
    private func flush() async throws(TextError) {
        guard let journal else { return }
        let isWritten = await withCheckedContinuation { continuation in
            journal.record([]) { continuation.resume(returning: $0) }
        }
        guard isWritten, self.state.withLock({ $0.unwritten.isEmpty }) else {
            throw TextError("the journal cannot be written")
        }
    }

    package func write(_ note: Incident.Note, about id: String) async throws(TextError) -> Incident? {
        // The answer includes every earlier write.
        try await self.flush()
        var question = IncidentQuestion()
        (question.id, question.wantsEvidence, question.limit) = (id, true, 1)
        guard var incident = try await self.answer(question).incidents.first, incident.id == id else { return nil }
        incident.note = note
        self.handle(.note(incident, note))
        try await self.flush()
        return incident
    }

    // MARK: Events

    private func input(of event: Event) -> IncidentMachine.Input? {
        switch event.payload {
        case .diagnosis(let diagnosis): self.input(of: diagnosis, at: event.time)
        case .path(let path): self.input(of: path, at: event.time)
        case .targetCheck(let check):
            self.names[check.target].map { name in
                .target(name, check.failure?.finding, since: check.failure?.since ?? event.time)
            }
        case .probe(let probe): self.input(of: probe)
        case .quality(let quality): self.input(of: quality)
        case .uplink(let change): self.input(of: change, at: event.time)
        case .task(let task):
            if case .attemptFailed(_, _, let attribution?, isCharged: _) = task.kind {
                .attemptFailed(attribution.party)
            } else {
                nil
            }
        case .connection(.failed(let failure)): .connectionsFailed(failure.party, count: failure.count)
        case .connection, .link, .netlink, .session, .daemon, .incident: nil
        }
    }

    private func input(of diagnosis: HostDiagnosis, at time: WallTime) -> IncidentMachine.Input? {
        let explanation = diagnosis.explanation
        guard diagnosis.state == .decided, explanation.conclusion != .notChecked else { return nil }
        guard diagnosis.isBroken else { return .hostWorks(evidence: explanation.measured) }
        let finding = Incident.Finding(
            party: explanation.party ?? .unknown, cause: explanation.cause?.description ?? explanation.sentence,
            advice: explanation.advice, certainty: explanation.cause?.certainty ?? .probable,
            evidence: explanation.measured)
        return .host(
            finding.party == .gateway ? .gateway : .network, finding, since: diagnosis.since ?? time,
            self.state.withLock { $0.network })
    }

    private func input(of path: PathEvent, at time: WallTime) -> IncidentMachine.Input? {
        switch path.scope {
        case .global:
            guard let now = path.to.path else { return nil }
            self.state.withLock {
                $0.network = Incident.Network(
                    interface: now.interface, gateway: now.gateway?.description, source: now.source?.description)
            }
            return nil
        case .family: return nil
        case .target(let target):
            guard let name = self.names[target] else { return nil }
            // A target without a check is up while it has a path.
            if self.unchecked.contains(target), path.to.level >= .routed { return .target(name, nil, since: time) }
            // A target without a path is not checked.
            guard path.to.level < .routed, let reason = path.to.reason else { return nil }
            let finding = Incident.Finding(party: reason.party, cause: reason.description, certainty: reason.certainty)
            return .target(name, finding, since: time)
        }
    }

    private func input(of event: QualityEvent) -> IncidentMachine.Input? {
        let name = event.target.flatMap { self.names[$0] }
        guard event.target == nil || name != nil else { return nil }
        let scope = name == nil ? Incident.Scope.network : .target
        if case .ended(let reason) = event.kind { return .slowEnded(scope, name, reason) }
        let (cause, trouble) = (Cause.slow(event.trouble.cause), event.trouble)
        let finding = Incident.Finding(
            party: trouble.party, cause: cause.description, advice: trouble.advice, certainty: cause.certainty,
            evidence: trouble.evidence)
        return .slow(scope, name, finding, since: trouble.since, self.state.withLock { $0.network })
    }

    private func input(of change: UplinkEvent, at time: WallTime) -> IncidentMachine.Input? {
        let uplink = change.uplink
        guard !change.isGone else { return .uplinkLeft(uplink.interface, .unmeasured) }
        guard uplink.role != .used else { return .uplinkLeft(uplink.interface, .moved) }
        if uplink.isBroken {
            let finding = Incident.Finding(
                party: uplink.party, cause: uplink.trouble, advice: uplink.advice, certainty: uplink.certainty)
            return .uplink(uplink.interface, finding, since: uplink.since ?? time)
        }
        if uplink.state == .works { return .uplink(uplink.interface, nil, since: time) }
        return .uplinkLeft(uplink.interface, .unmeasured)
    }

    private func input(of event: ProbeEvent) -> IncidentMachine.Input? {
        switch event.kind {
        case .added, .overrun: return nil
        case .removed: return .probeRemoved(event.probe)
        case .finished(let outcome):
            guard outcome.result != .inconclusive else { return .probeLeftOut(event.probe) }
            return .probe(
                event.probe,
                outcome.failure.map { Incident.Finding(party: $0.party, cause: $0.text, certainty: .probable) })
        }
    }
}

extension TargetCheckReport.Failure {
    fileprivate var finding: Incident.Finding {
        Incident.Finding(
            party: self.party, cause: self.text, advice: self.advice, certainty: self.reason.certainty)
    }
}

/// Incidents of a process without a state directory; they end with it.
private struct IncidentMemory {
    private var incidents: [Incident] = []
    private var spans: [Coverage.Span] = []

    // More than anyone reads.
    private static let limit = 10_000

    mutating func apply(_ change: IncidentChange) {
        switch change {
        case .save(let incident):
            self.remove(incident.id)
            self.incidents.append(incident)
            if self.incidents.count > Self.limit { self.incidents.removeFirst() }
        case .remove(let id): self.remove(id)
        case .cover(let span):
            self.remove(span.id)
            self.spans.append(span)
        }
    }

    private mutating func remove(_ id: String) {
        if let place = self.incidents.lastIndex(where: { $0.id == id }) { self.incidents.remove(at: place) }
        if let place = self.spans.lastIndex(where: { $0.id == id }) { self.spans.remove(at: place) }
    }

    func answer(_ question: IncidentQuestion, at now: WallTime) -> IncidentAnswer {
        var answer = IncidentAnswer(to: question, at: now)
        answer.spans = self.spans.filter { question.covers($0) }
        answer.firstWatched = self.spans.filter { $0.state == .watched }.map(\.start).min()
        for incident in self.incidents.sorted(by: { ($0.start, $0.id) > ($1.start, $1.id) })
        where question.id.map(incident.id.hasPrefix) ?? true {
            answer.add(incident)
        }
        return answer
    }
}

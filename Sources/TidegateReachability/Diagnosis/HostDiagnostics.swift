internal import Synchronization
internal import TidegateAttribution
package import TidegateCore

/// Diagnoses this host whenever ``DiagnosisSchedule`` says so, keeps the latest result, and revises the attribution of
/// attempts that had failed in silence before.
package final class HostDiagnostics: Sendable {
    private struct State {
        var latest: HostDiagnosis?
        var evidence: [AddressFamily: SilenceEvidence] = [:]
        var endedAt: MonotonicTime?
        var silent = SilentAttempts()
        var running: Task<Bool, Never>?
    }

    let diagnostics: PathDiagnostics
    private let state = Mutex(State())
    private let inputs: AsyncStream<DiagnosisSchedule.Input?>
    private let input: AsyncStream<DiagnosisSchedule.Input?>.Continuation

    /// Diagnoses by `diagnostics`; nothing is sent before ``run()``.
    package init(_ diagnostics: PathDiagnostics) {
        self.diagnostics = diagnostics
        (self.inputs, self.input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(32))
        self.diagnostics.monitor.bus.attach(SilenceObserver(diagnostics: self))
    }

    /// The latest diagnosis; nil before the first.
    package var latest: HostDiagnosis? { self.state.withLock { $0.latest } }

    /// What the latest diagnosis knows of a family's gateway and of what lies beyond it; nil if it is too old.
    package func evidence(_ family: AddressFamily) -> SilenceEvidence? {
        let now = self.diagnostics.time.monotonic()
        return self.state.withLock { state in
            guard let ended = state.endedAt, now - ended <= Thresholds.evidenceAge else { return nil }
            var evidence = state.evidence[family]
            evidence?.moment = ended
            return evidence
        }
    }

    /// Somebody looks at the status page.
    package func viewed() { self.input.yield(.viewed) }

    /// Diagnoses until the Swift task is cancelled.
    package func run() async {
        var schedule = DiagnosisSchedule()
        for await input in self.inputs {
            let now = self.diagnostics.time.monotonic()
            if let input { schedule = schedule.after(input, at: now) }
            guard let deadline = schedule.deadline else { continue }
            guard deadline <= now else {
                // Nil only wakes this loop up; a deadline that has moved by then is looked at again.
                let isSet = self.diagnostics.monitor.call(after: deadline - now) { self.input.yield(nil) }
                if isSet { continue } else { return }
            }
            schedule = schedule.after(.began, at: now)
            let isBad = await self.diagnoseOrJoin()
            schedule = schedule.after(.ended(isBad: isBad), at: self.diagnostics.time.monotonic())
            self.input.yield(nil)
        }
    }

    /// Diagnoses once, whatever the schedule says, or waits for the diagnosis under way; true if something is wrong.
    ///
    /// Two at once would share how often a router answers.
    @discardableResult
    package func diagnose() async -> Bool {
        self.input.yield(.began)
        let isBad = await self.diagnoseOrJoin()
        self.input.yield(.ended(isBad: isBad))
        return isBad
    }

    private func diagnoseOrJoin() async -> Bool {
        let (task, isNew) = self.state.withLock { state -> (Task<Bool, Never>, Bool) in
            if let running = state.running { return (running, false) }
            let task = Task { await self.diagnoseAlone() }
            state.running = task
            return (task, true)
        }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            if isNew { task.cancel() }
        }
    }

    /// The cause of an address's silence if the way out is dead; nil if it is not, or if another gateway leads there.
    ///
    /// Without an address, the cause of silence about names. Diagnoses this host, unless that was done a moment ago.
    package func outage(at address: IPAddress?, through gateway: IPAddress?) async -> Cause? {
        let age = self.state.withLock { $0.endedAt }.map { self.diagnostics.time.monotonic() - $0 }
        if age.map({ $0 > Thresholds.diagnosisReuse }) ?? true { await self.diagnose() }
        let cause: Cause?
        if let address {
            guard let gateway, gateway != address, let evidence = self.evidence(address.family),
                evidence.gateway.address == gateway
            else { return nil }
            cause = DecisionTable.cause(of: evidence)
        } else {
            cause = self.latest?.explanation.cause
        }
        return cause.flatMap { $0.party.isWayOut ? $0 : nil }
    }

    private func diagnoseAlone() async -> Bool {
        let start = self.diagnostics.time.monotonic()
        let found = await self.diagnostics.diagnoseHost(within: Thresholds.hostDiagnosis)
        let (now, wall) = (self.diagnostics.time.monotonic(), self.diagnostics.time.wall())
        // What was found until it was cancelled says nothing.
        guard !Task.isCancelled else {
            self.state.withLock { $0.running = nil }
            return false
        }
        let revisions = self.state.withLock { state in
            let previous = state.latest
            let isSame = previous?.explanation.firstFailure?.rung == found.explanation.firstFailure?.rung
            state.latest = HostDiagnosis(
                explanation: found.explanation, time: wall, since: isSame ? previous?.since ?? wall : wall)
            (state.evidence, state.endedAt, state.running) = (found.evidence, now, nil)
            return state.silent.revisions(by: found.evidence, before: start, at: now)
        }
        for revision in revisions {
            self.diagnostics.monitor.bus.publish(
                .session(
                    .attributionRevised(
                        task: revision.task, attempt: revision.attempt, from: revision.from, to: revision.to)))
        }
        return found.explanation.conclusion == .broken
    }

    fileprivate func receive(_ event: Event) {
        switch event.payload {
        case .path: self.input.yield(.changed)
        case .task(let task):
            guard case .attemptFailed(let summary, _, let attribution?, isCharged: _) = task.kind,
                let silent = attribution.silence
            else { return }
            let attempt = SilentAttempts.Attempt(
                task: task.id, number: summary.number, party: attribution.party, silent: silent,
                family: summary.remote?.family, moment: event.moment)
            self.state.withLock { $0.silent.add(attempt) }
            self.input.yield(.failed)
        case .targetCheck(let check):
            // With no task that fails, a target may be the first to show what is wrong with the way out.
            if check.isNews, let party = check.failure?.party, party != .theirs, party != .mine {
                self.input.yield(.failed)
            }
        case .probe(let probe):
            // What the kernel knows already needs no diagnosis.
            if case .finished(let outcome) = probe.kind, let party = outcome.failure?.party, !outcome.isGated,
                outcome.isNews || outcome.result == .inconclusive, party != .theirs, party != .mine
            {
                self.input.yield(.failed)
            }
        // Everything behind a gateway is silent, or the connections to one remote hang beside nothing that answers.
        case .connection(.groupSilent): self.input.yield(.failed)
        case .connection(.stalled(let stall)): if stall.party == .unknown { self.input.yield(.failed) }
        case .connection(.recovered), .connection(.failed), .connection(.modeChanged), .connection(.dropped), .link,
            .netlink, .session, .daemon:
            break
        }
    }
}

/// Tells a host's diagnostics what happens on the bus; the bus does not keep them alive.
private final class SilenceObserver: EventSink {
    private weak let diagnostics: HostDiagnostics?

    init(diagnostics: HostDiagnostics) { self.diagnostics = diagnostics }

    func receive(_ event: Event) {
        // Most events are of tasks that work, and a weak reference costs more than to look at them.
        if case .task(let task) = event.payload {
            guard case .attemptFailed = task.kind else { return }
        }
        self.diagnostics?.receive(event)
    }
}

/// What a diagnosis of the whole host comes to.
struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    /// What is known of each family's gateway, and of what lies beyond it.
    var evidence: [AddressFamily: SilenceEvidence] = [:]

    init(_ findings: LadderFindings) {
        self.explanation = ExplanationComposer.compose(findings)
        for (family, path) in findings.paths where path.verdict.level >= .routed {
            let finder = CauseFinder(findings: findings, path: path)
            self.evidence[family] = SilenceEvidence(
                silent: .target, gateway: path.gatewayEvidence, witnesses: finder.witnesses)
        }
        // Where nothing works at all, a family over which nobody could be asked fails like the other one.
        guard self.explanation.conclusion == .broken,
            let known = self.evidence.values.first(where: { !$0.witnesses.isEmpty }),
            !known.witnesses.contains(where: \.isBeyondGateway)
        else { return }
        for (family, own) in self.evidence where own.witnesses.isEmpty { self.evidence[family] = known }
    }
}

/// Attempts that failed in silence lately, until a diagnosis that began after them has been made.
struct SilentAttempts: Sendable {
    struct Attempt: Sendable, Hashable {
        var task: TaskID
        var number: Int
        /// Whose failure it was taken for.
        var party: FaultParty
        var silent: SilenceEvidence.Silent
        /// Nil if it ended before it had an address.
        var family: AddressFamily?
        var moment: MonotonicTime
    }

    /// An attempt whose failure turned out to be another party's.
    struct Revision: Sendable, Hashable {
        var task: TaskID
        var attempt: Int
        var from: FaultParty
        var to: FaultParty
    }

    /// A burst of failures has one cause: the oldest ones go first.
    static let capacity = 1_024
    private var attempts: [Attempt] = []

    var count: Int { self.attempts.count }

    mutating func add(_ attempt: Attempt) {
        if self.attempts.count >= SilentAttempts.capacity { self.attempts.removeFirst(SilentAttempts.capacity / 2) }
        self.attempts.append(attempt)
    }

    /// What a diagnosis that began at `start` says of the attempts before it, each once; what it cannot tell, the next
    /// one may.
    mutating func revisions(
        by evidence: [AddressFamily: SilenceEvidence], before start: MonotonicTime, at now: MonotonicTime
    ) -> [Revision] {
        let known = self.attempts.filter { $0.moment <= start && now - $0.moment <= Thresholds.evidenceAge }
        self.attempts.removeAll { $0.moment <= start }
        return known.compactMap { attempt in
            let own = attempt.family.map { evidence[$0] } ?? evidence[.ipv4] ?? evidence[.ipv6]
            switch own.map({ DecisionTable.revision(of: attempt.party, attempt.silent, by: $0) }) {
            case .to(let party)?:
                return Revision(task: attempt.task, attempt: attempt.number, from: attempt.party, to: party)
            case .unchanged?: break
            case .undecided?, nil: self.attempts.append(attempt)
            }
            return nil
        }
    }
}

/// When this host is diagnosed: after a change that lasts, while something is bad, and when somebody looks.
struct DiagnosisSchedule: Sendable, Hashable {
    /// What happens to a schedule.
    enum Input: Sendable, Hashable {
        /// A path or a level has changed.
        case changed
        /// An attempt failed in silence, so that others are asked at once.
        case failed
        /// Somebody looks at the status page.
        case viewed
        /// A diagnosis has begun.
        case began
        /// A diagnosis has ended.
        case ended(isBad: Bool)
    }

    /// How long a change has to last.
    static let settling = Duration.seconds(1)
    /// The time between diagnoses while something is bad, and at least between those for lookers.
    static let interval = Duration.seconds(15)
    /// The time at least between a diagnosis and one for a failed attempt.
    static let patience = Duration.seconds(5)

    /// When the next diagnosis is due; nil while none is.
    private(set) var deadline: MonotonicTime?
    private var beganAt: MonotonicTime?

    /// The schedule after an input.
    func after(_ input: Input, at now: MonotonicTime) -> DiagnosisSchedule {
        var next = self
        switch input {
        case .changed: next.deadline = now + DiagnosisSchedule.settling
        case .failed: next.request(DiagnosisSchedule.patience, at: now)
        case .viewed: next.request(DiagnosisSchedule.interval, at: now)
        case .began: (next.beganAt, next.deadline) = (now, nil)
        case .ended(let isBad):
            guard isBad, let began = next.beganAt else { break }
            next.deadline = min(next.deadline ?? began + DiagnosisSchedule.interval, began + DiagnosisSchedule.interval)
        }
        return next
    }

    // Now, or as soon as `distance` has passed since the last one began; never later than planned.
    private mutating func request(_ distance: Duration, at now: MonotonicTime) {
        let earliest = self.beganAt.map { max(now, $0 + distance) } ?? now
        self.deadline = min(self.deadline ?? earliest, earliest)
    }
}

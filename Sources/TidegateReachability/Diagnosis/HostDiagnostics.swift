internal import Synchronization
internal import TidegateAttribution
package import TidegateCore

/// Diagnoses this host when ``DiagnosisSchedule`` requires it, keeps the single diagnosis that all outputs show, and
/// revises the attribution of earlier attempts that failed in silence.
package final class HostDiagnostics: Sendable {
    private struct State {
        var standing = StandingDiagnosis()
        /// The last diagnosis given to the bus and the level.
        var published: HostDiagnosis?
        /// True while the published level reflects an outage.
        var isLevelSet = false
        var evidence: [AddressFamily: SilenceEvidence] = [:]
        var gateways: [AddressFamily: IPAddress] = [:]
        var endedAt: MonotonicTime?
        var silent = SilentAttempts()
        var running: Task<Bool, Never>?
    }

    package let diagnostics: PathDiagnostics
    private let state = Mutex(State())
    // Without ``run()`` no later diagnosis would revoke the findings of an earlier one.
    private let isRunning = Atomic<Bool>(false)
    private let inputs: AsyncStream<DiagnosisSchedule.Input?>
    private let input: AsyncStream<DiagnosisSchedule.Input?>.Continuation

    /// Creates the host's diagnostics on `diagnostics`; it sends no packets before ``run()``.
    package init(_ diagnostics: PathDiagnostics) {
        self.diagnostics = diagnostics
        (self.inputs, self.input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(32))
        self.diagnostics.monitor.bus.attach(SilenceObserver(diagnostics: self))
        self.diagnostics.monitor.evidence.onSilence { [weak self] in self?.suspect(since: $0) }
    }

    /// The current diagnosis of this host; nil until the first suspicion or measurement on the current path.
    package var latest: HostDiagnosis? { self.state.withLock { $0.standing.latest } }

    /// Requests a diagnosis, because packets sent since `moment` may be unanswered, and reports `checking` until it has
    /// ended.
    func suspect(since moment: MonotonicTime) {
        guard self.isRunning.load(ordering: .relaxed) else { return }
        let since = self.moment(moment)
        self.state.withLock { $0.standing.suspect(since: since) }
        self.input.yield(.failed)
    }

    private func moment(_ moment: MonotonicTime) -> StandingDiagnosis.Moment {
        let (now, wall) = (self.diagnostics.time.monotonic(), self.diagnostics.time.wall())
        return .init(monotonic: moment, wall: wall + (moment - now))
    }

    /// The latest diagnosis's evidence about a family's gateway and what lies beyond it; nil if it is too old.
    package func evidence(_ family: AddressFamily) -> SilenceEvidence? {
        let now = self.diagnostics.time.monotonic()
        return self.state.withLock { state in
            guard let ended = state.endedAt, now - ended <= Thresholds.evidenceAge else { return nil }
            var evidence = state.evidence[family]
            evidence?.moment = ended
            return evidence
        }
    }

    /// Requests a diagnosis for the status page.
    package func viewed() { self.input.yield(.viewed) }

    /// Diagnoses until the Swift task is cancelled.
    package func run() async {
        var schedule = DiagnosisSchedule()
        self.isRunning.store(true, ordering: .relaxed)
        for await input in self.inputs {
            let now = self.diagnostics.time.monotonic()
            if let input { schedule = schedule.after(input, at: now) }
            guard let deadline = schedule.deadline else { continue }
            guard deadline <= now else {
                // Nil only wakes this loop up, which then reads the deadline again.
                let isSet = self.diagnostics.monitor.call(after: deadline - now) { self.input.yield(nil) }
                if isSet { continue } else { return }
            }
            schedule = schedule.after(.began, at: now)
            self.publishNews()
            let isBad = await self.diagnoseOrJoin {}
            schedule = schedule.after(.ended(isBad: isBad), at: self.diagnostics.time.monotonic())
            self.input.yield(nil)
        }
    }

    /// Diagnoses once, regardless of the schedule, or waits for a running diagnosis; true if there is a failure or the
    /// result is inconclusive.
    ///
    /// Two concurrent diagnoses would share the rate limit of a router's answers.
    @discardableResult
    package func diagnose() async -> Bool {
        // Joining a running diagnosis does not change the schedule; the end of that diagnosis does.
        let isOwn = Atomic<Bool>(false)
        let isBad = await self.diagnoseOrJoin {
            isOwn.store(true, ordering: .relaxed)
            self.input.yield(.began)
        }
        if isOwn.load(ordering: .relaxed) { self.input.yield(.ended(isBad: isBad)) }
        return isBad
    }

    private func diagnoseOrJoin(began: () -> Void) async -> Bool {
        let (task, isNew) = self.state.withLock { state -> (Task<Bool, Never>, Bool) in
            if let running = state.running { return (running, false) }
            let task = Task { await self.diagnoseAlone() }
            state.running = task
            return (task, true)
        }
        if isNew { began() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            if isNew { task.cancel() }
        }
    }

    /// The cause of an address's silence if the way out is dead; nil if it is not, or if another gateway leads there.
    ///
    /// Without an address, the cause of silence about names. It diagnoses this host, unless a diagnosis was made
    /// recently.
    package func outage(at address: IPAddress?, through gateway: IPAddress?) async -> Cause? {
        let age = self.state.withLock { $0.endedAt }.map { self.diagnostics.time.monotonic() - $0 }
        let isKnown = self.isRunning.load(ordering: .relaxed) && self.latest?.isBroken ?? false
        if !isKnown, age.map({ $0 > Thresholds.diagnosisReuse }) ?? true { await self.diagnose() }
        let outage = self.latest.flatMap { $0.isBroken ? $0.explanation : nil }
        var cause = outage?.cause
        if let address {
            guard let gateway, gateway != address, let evidence = self.evidence(address.family),
                self.state.withLock({ $0.gateways[address.family] }) == gateway
            else { return nil }
            let own = outage?.ladders.first { $0.family == address.family && $0.cause?.party != .unknown }?.cause
            cause = own ?? cause ?? DecisionTable.cause(of: evidence)
        }
        // If all paths end behind one router, a silent target is behind it as well.
        return cause.flatMap { $0.party.isWayOut || outage != nil && $0.party == .path ? $0 : nil }
    }

    private func diagnoseAlone() async -> Bool {
        let start = self.diagnostics.time.monotonic()
        let began = self.moment(start)
        let path = self.state.withLock { $0.standing.path }
        let found = await self.diagnostics.diagnoseHost(within: Thresholds.hostDiagnosis)
        let now = self.diagnostics.time.monotonic()
        let ended = self.moment(now)
        // Findings from before a cancellation or a change of path prove nothing.
        guard !Task.isCancelled, path == self.state.withLock({ $0.standing.path }) else {
            self.state.withLock { $0.running = nil }
            return true
        }
        var preview = self.state.withLock { $0.standing }
        preview.record(found.explanation, from: began, to: ended)
        // The level is set first, so that clients never see one that contradicts the diagnosis.
        if self.isRunning.load(ordering: .relaxed) {
            let isFailing = preview.latest?.failing.isEmpty == false
            self.state.withLock { $0.isLevelSet = isFailing }
            await self.diagnostics.monitor.setFailing(preview.latest?.failing ?? [:])
        }
        let revisions = self.state.withLock { state -> [SilentAttempts.Revision]? in
            state.running = nil
            guard state.standing.path == path else { return nil }
            state.standing.record(found.explanation, from: began, to: ended)
            (state.evidence, state.gateways, state.endedAt) = (found.evidence, found.gateways, now)
            return state.silent.revisions(by: found.evidence, before: start, at: now)
        }
        guard let revisions else {
            self.diagnostics.monitor.forgetFailing()
            return true
        }
        for revision in revisions {
            self.diagnostics.monitor.bus.publish(
                .session(
                    .attributionRevised(
                        task: revision.task, attempt: revision.attempt, from: revision.from, to: revision.to)))
        }
        self.diagnostics.monitor.answered(found.answering, since: start)
        self.publishNews()
        return found.explanation.conclusion == .broken || self.latest?.state == .checking
    }

    /// Publishes the diagnosis if it has changed.
    private func publishNews() {
        let news = self.state.withLock { state -> (now: HostDiagnosis?, isNew: Bool) in
            let now = state.standing.latest
            let isNew = now.map { !$0.isSame(as: state.published) } ?? false
            state.published = now
            return (now, isNew)
        }
        if news.isNew, let diagnosis = news.now { self.diagnostics.monitor.bus.publish(.diagnosis(diagnosis)) }
    }

    fileprivate func receive(_ event: Event) {
        switch event.payload {
        case .path(let change): self.receive(change, event)
        case .task(let task):
            guard case .attemptFailed(let summary, _, let attribution?, isCharged: _) = task.kind,
                let silent = attribution.silence
            else { return }
            let attempt = SilentAttempts.Attempt(
                task: task.id, number: summary.number, party: attribution.party, silent: silent,
                family: summary.remote?.family, moment: event.moment)
            self.state.withLock { $0.silent.add(attempt) }
            self.receive(silenceOf: attribution.party, event.moment - summary.duration)
        case .targetCheck(let check):
            guard let failure = check.failure else { return self.receiveAnswer() }
            // If no task fails, a target may be the first to show a failure of the way out.
            if check.isNews {
                self.receive(silenceOf: failure.party, event.moment)
            }
        case .probe(let probe):
            guard case .finished(let outcome) = probe.kind else { return }
            guard let party = outcome.failure?.party else { return self.receiveAnswer() }
            // A failure that the kernel reports needs no diagnosis.
            if !outcome.isGated, outcome.isNews {
                self.receive(silenceOf: party, event.moment - outcome.duration)
            } else if !outcome.isGated, outcome.result == .inconclusive {
                self.input.yield(.viewed)
            }
        // Everything behind a gateway is silent, or connections to one remote hang and no other remote answers.
        case .connection(.groupSilent): self.suspect(since: event.moment)
        case .connection(.stalled(let stall)): self.receive(silenceOf: stall.party, event.moment - stall.age)
        case .connection(.recovered): self.receiveAnswer()
        case .diagnosis, .quality, .connection(.failed), .connection(.modeChanged), .connection(.dropped), .link,
            .netlink, .session, .incident, .daemon:
            break
        }
    }
}

extension HostDiagnostics {
    private func receive(_ change: PathEvent, _ event: Event) {
        switch change.scope {
        case .global where change.isOfKernel:
            let moment = StandingDiagnosis.Moment(monotonic: event.moment, wall: event.time)
            self.state.withLock { state in
                state.standing.pathChanged(to: change.to, at: moment)
                state.isLevelSet = false
            }
            self.diagnostics.monitor.forgetFailing()
            self.input.yield(change.to.level < .routed ? .lost : .changed)
        // Internet checks fail, unless the level only reflects the diagnosis.
        case .global where change.to.level == .limited && !self.state.withLock({ $0.isLevelSet }):
            self.suspect(since: event.moment)
        case .family where change.isOfKernel: self.input.yield(.changed)
        case .global, .family, .target: self.input.yield(.viewed)
        }
    }

    // Without an outage an answer is not news, and answers are frequent.
    private func receiveAnswer() { if self.latest?.isBroken ?? false { self.input.yield(.answered) } }

    // One silent server proves little about the way out.
    private func receive(silenceOf party: FaultParty, _ start: MonotonicTime) {
        switch party {
        case .mine, .theirs: break
        case .path: self.input.yield(.viewed)
        case .gateway, .upstream, .resolver, .unknown: self.suspect(since: start)
        }
    }
}

extension PathEvent {
    /// True if the kernel's state has changed, rather than only the evidence about what lies beyond.
    fileprivate var isOfKernel: Bool {
        if min(self.from.level, self.to.level) < .routed { return true }
        // The choice of the better family also depends on evidence about what lies beyond.
        return self.from.path?.source?.family == self.to.path?.source?.family
            && self.from.path?.identity != self.to.path?.identity
    }
}

/// Forwards events of the bus to a host's diagnostics, which the bus does not keep alive.
private final class SilenceObserver: EventSink {
    private weak let diagnostics: HostDiagnostics?

    init(diagnostics: HostDiagnostics) { self.diagnostics = diagnostics }

    func receive(_ event: Event) {
        // Most events come from working tasks, and a weak reference costs more than checking the event.
        if case .task(let task) = event.payload {
            guard case .attemptFailed = task.kind else { return }
        }
        self.diagnostics?.receive(event)
    }
}

/// The result of a diagnosis of the whole host.
struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    /// The evidence about each family's gateway and about what lies beyond it.
    var evidence: [AddressFamily: SilenceEvidence] = [:]
    /// The gateway of each family's default path.
    var gateways: [AddressFamily: IPAddress]
    /// The families over which the internet check URLs answer.
    var answering: [AddressFamily]

    init(_ findings: LadderFindings) {
        self.gateways = findings.paths.compactMapValues { $0.verdict.path?.gateway }
        self.explanation = ExplanationComposer.compose(findings)
        self.answering = findings.paths.filter {
            $0.value.internet.map(ConnectivityEvaluator.connectivity) == .full
        }.map(\.key)
        for (family, path) in findings.paths where path.verdict.level >= .routed && !findings.lackedDescriptor {
            let finder = CauseFinder(findings: findings, path: path)
            // An answer from a public address proves nothing about another target's host.
            let witnesses = finder.witnesses.map {
                $0.reach == .destination ? Witness($0.kind, .beyond(path.subject.address), refusal: $0.refusal) : $0
            }
            self.evidence[family] = SilenceEvidence(
                silent: .target, gateway: path.gatewayEvidence, witnesses: witnesses)
        }
        // If nothing works at all, a family without any party to contact fails like the other one.
        guard self.explanation.conclusion == .broken,
            let known = self.evidence.values.first(where: { !$0.witnesses.isEmpty }),
            !known.witnesses.contains(where: \.isBeyondGateway)
        else { return }
        for (family, own) in self.evidence where own.witnesses.isEmpty { self.evidence[family] = known }
    }
}

internal import TidegateAttribution
internal import TidegateCore

/// Checks configured targets on their schedule, and stores the results.
///
/// A target's number is its position in the configuration.
final class TargetChecks {
    private struct State {
        let target: Target
        var verdict = Verdict.unknown
        var addresses: [IPAddress] = []
        private(set) var round = 0
        var report: TargetCheckReport
        /// The last failure, if a diagnosis explained it.
        var explained: TargetCheck.Outcome.Failure?

        var isChecked: Bool { self.report.check.kind != .none }

        /// Ends the running check: the result it still brings says nothing of what holds now.
        mutating func void() {
            self.round += 1
            self.report.checkingSince = nil
        }
    }

    private static let mostAtOnce = 50

    private let checker: any TargetChecker
    private let publisher: VerdictPublisher
    private var states: [State]
    private var schedule = CheckSchedule<Int>()
    private var generator = SystemRandomNumberGenerator()
    private var peers = PeerHistory()
    private var isWayOutFailing = false
    /// The cause while a captive portal answers for every server beyond the gateway.
    private var portal: Cause?
    private let send: @Sendable (@escaping ReachabilityEngine.Command) -> Void

    /// Nil if there is no checker.
    init?(_ targets: [Target], _ dependencies: ReachabilityEngine.Dependencies, publisher: VerdictPublisher) {
        guard let checker = dependencies.targetChecker else { return nil }
        self.checker = checker
        self.send = dependencies.send
        self.publisher = publisher
        let checks = dependencies.configuration.targetChecks
        self.states = targets.map {
            State(target: $0, report: TargetCheckReport(checks[$0] ?? .standard(for: $0)))
        }
        for (number, state) in self.states.enumerated() where state.isChecked {
            self.schedule.add(number, every: state.report.check.interval)
            publisher.store.write { $0.status.checks[state.target] = state.report }
        }
    }

    /// When the next check is due; nil if none is.
    var deadline: MonotonicTime? { self.schedule.deadline }

    // MARK: Paths

    /// The path to a target; nil without one.
    func path(of number: Int) -> NetworkPath? { self.states[number].verdict.path }

    /// Records the current path to a target.
    func setPath(_ verdict: Verdict, _ addresses: [AddressVerdict], of number: Int, at now: MonotonicTime) {
        guard self.states[number].isChecked else { return }
        let before = self.states[number].verdict
        self.states[number].verdict = verdict
        let usable = addresses.filter(\.verdict.isUsable)
        // A running search for the cause of a missing address no longer counts.
        if self.states[number].addresses.isEmpty, !usable.isEmpty { self.states[number].void() }
        self.states[number].addresses = usable.map(\.address)
        if !verdict.isUsable {
            self.schedule.pause(number)
            // An address that no public name has comes from a resolver that blocks the name; the checker finds out
            // which one.
            if self.states[number].target.address == nil, !addresses.isEmpty,
                addresses.allSatisfy({ $0.address.isUnspecified })
            {
                if before.isUsable { self.states[number].void() }
                return self.checkName(of: number, nil, at: now)
            }
            self.setUnreachable(verdict, number)
        } else if usable.isEmpty {
            self.schedule.pause(number)
        } else if self.schedule.due(number) == nil {
            self.schedule.resume(number, at: now)
        } else if let old = before.path, let new = verdict.path, !old.isSamePath(as: new) {
            self.schedule.pathChanged(number, at: now)
        } else {
            return
        }
        self.publish(number, at: now)
    }

    /// Checks a target whose name has no address: the checker finds out whether the resolvers fail, or the path to
    /// them.
    func setUnresolved(_ failure: ResolveFailure, of number: Int, at now: MonotonicTime) {
        let state = self.states[number]
        // Without a route to any resolver, the resolvers are not at fault and the cause is already known.
        guard state.isChecked, state.addresses.isEmpty, state.verdict.isUsable else { return }
        self.checkName(of: number, failure, at: now)
    }

    private func checkName(of number: Int, _ failure: ResolveFailure?, at now: MonotonicTime) {
        let state = self.states[number]
        self.check(
            number,
            TargetCheck.Request(
                target: state.target, check: state.report.check, addresses: [], unresolved: failure,
                verdict: state.verdict, isReached: state.report.isReached), at: now)
    }

    private func check(_ number: Int, _ request: TargetCheck.Request, at now: MonotonicTime) {
        var request = request
        request.explained = self.states[number].explained
        let round = self.states[number].round
        self.states[number].report.checkingSince = self.publisher.time.wall()
        self.publish(number, at: now)
        Task { [checker, send, request] in
            let outcome = await checker.check(request)
            send { $0.targetChecked(number, round: round, outcome) }
        }
    }

    // No packet can be sent, so no check is needed.
    private func setUnreachable(_ verdict: Verdict, _ number: Int) {
        let (reason, report) = (verdict.reason ?? .noRoute, self.states[number].report)
        self.states[number].void()
        guard report.isReached != false || report.lastFailure?.reason != reason else { return }
        let since = report.isReached == false ? report.lastFailure?.since : nil
        self.states[number].report.isReached = false
        self.states[number].report.lastFailure = .init(
            time: self.publisher.time.wall(), since: since, reason: reason, party: reason.party,
            text: reason.description, advice: self.advice(for: verdict, reason, self.states[number].target))
    }

    private func advice(for verdict: Verdict, _ reason: UnreachableReason, _ target: Target) -> String {
        var refusal = HostCause.KernelRefusal(reason: reason, family: target.address?.family ?? .ipv4)
        refusal.link = verdict.path?.interface
        return Cause.thisHost(.kernel(refusal)).advice(for: target)
    }

    /// Checks every target soon: this host may be in another place.
    func checkAll(at now: MonotonicTime) {
        let numbers = self.states.indices.filter { self.states[$0].isChecked }
        for number in numbers {
            self.states[number].void()
            self.schedule.settle(number, at: now)
        }
        self.hasten(Array(numbers), at: now)
    }

    /// Records that the way out now fails or works again: earlier results are checked again soon.
    func wayOutChanged(isFailing: Bool, portal: Cause?, at now: MonotonicTime) {
        (self.isWayOutFailing, self.portal) = (isFailing, portal)
        let numbers = self.states.indices.filter { number in
            let report = self.states[number].report
            return report.isReached == isFailing || !isFailing && report.checkingSince != nil
        }
        self.hasten(numbers, at: now)
    }

    private func hasten(_ numbers: [Int], at now: MonotonicTime) {
        // Many simultaneous checks would slow each other down.
        let spread = Double(max(0, numbers.count - Self.mostAtOnce)) / Double(Self.mostAtOnce)
        for number in numbers {
            let delay = Duration.seconds(spread == 0 ? 0 : .random(in: 0...spread, using: &self.generator))
            self.schedule.hasten(number, to: now + delay)
            self.publish(number, at: now)
        }
        // With few targets, a client that sees the new diagnosis also sees that they are being checked.
        self.run(at: now)
    }

    // MARK: Checks

    /// Starts the checks that are due.
    func run(at now: MonotonicTime) {
        guard let deadline = self.schedule.deadline, deadline <= now else { return }
        for case .run(let number) in self.schedule.tick(at: now, using: &self.generator) {
            let state = self.states[number]
            let peers = state.verdict.path.map {
                self.peers.peers(of: UInt64(number), on: $0.identity, at: now, silentSince: now)
            }
            self.check(
                number,
                TargetCheck.Request(
                    target: state.target, check: state.report.check, addresses: state.addresses, verdict: state.verdict,
                    isReached: state.report.isReached, peers: peers ?? .init()), at: now)
        }
    }

    /// Records the result of a check; nil if it is no longer valid.
    func didFinish(
        _ number: Int, round: Int, _ outcome: TargetCheck.Outcome, at now: MonotonicTime
    ) -> TargetCheckEvent? {
        let outcome = self.withoutPortal(outcome, of: self.states[number])
        let isExplained = outcome.failure.map {
            $0.reason.rung.isOfKernel || self.isWayOutFailing && $0.party.isWayOut
        }
        let counts = self.schedule.finished(
            number, isInDoubt: !outcome.isAnswered && isExplained != true,
            lackedDescriptor: outcome.failure?.isOwn ?? false, at: now)
        let isCurrent = round == self.states[number].round
        let start = isCurrent ? self.states[number].report.checkingSince.take() : nil
        guard counts, isCurrent else {
            self.publish(number, at: now)
            return nil
        }
        self.states[number].explained = outcome.failure.flatMap { $0.explainedAt == nil ? nil : $0 }
        if let path = self.states[number].verdict.path {
            self.peers.record(UInt64(number), on: path.identity, isReached: outcome.isAnswered, at: now)
        }
        let before = self.states[number].report
        self.states[number].report.record(outcome, since: start, at: self.publisher.time.wall())
        let report = self.states[number].report
        self.publish(number, at: now)
        let failure = report.isReached == false ? report.lastFailure : nil
        let event = TargetCheckEvent(
            target: self.states[number].target, kind: report.check.kind, failure: failure,
            isNews: before.isReached != report.isReached
                || failure.map { $0.reason != before.lastFailure?.reason } ?? false,
            certificateExpiry: outcome.certificateExpiry, phases: outcome.phases)
        self.publisher.bus.publish(.targetCheck(event))
        return event
    }

    // A portal answers requests without TLS in the target's place.
    private func withoutPortal(_ outcome: TargetCheck.Outcome, of state: State) -> TargetCheck.Outcome {
        let ways = self.publisher.store.read { $0.status.families.compactMap(\.verdict.path?.gateway) }
        guard let portal, outcome.failure == nil, let gateway = state.verdict.path?.gateway, ways.contains(gateway),
            state.report.check.location.map({ $0.scheme == .http }) ?? (state.target.port == 80)
        else { return outcome }
        return TargetCheck.Outcome(
            failure: .init(
                reason: .portal, party: portal.party, text: portal.description,
                advice: portal.advice(for: state.target)))
    }

    /// The basis of a target's level; nil if it has not been checked.
    func found(_ number: Int) -> TargetEntry.Found? {
        let report = self.states[number].report
        guard let isReached = report.isReached else { return nil }
        return isReached ? .reached : .failed(report.lastFailure?.reason ?? .timeout)
    }

    private func publish(_ number: Int, at now: MonotonicTime) {
        let wall = self.publisher.time.wall()
        self.states[number].report.nextCheck = self.schedule.due(number).map {
            WallTime(microseconds: wall.microseconds + ($0 - now).wholeNanoseconds / 1000)
        }
        let state = self.states[number]
        self.publisher.store.write { $0.status.checks[state.target] = state.report }
    }
}

extension TargetCheck.Outcome {
    fileprivate var isAnswered: Bool { self.failure?.reason.isAnswer ?? true }
}

extension UnreachableReason {
    // The target itself refused or answered wrongly: a change of path cannot explain that.
    fileprivate var isAnswer: Bool { [.refused, .tlsFailed, .httpError].contains(self) }
}

extension TargetCheckReport {
    /// True if the last check had an answer, even one that is an error.
    var isAnswered: Bool { self.isReached.map { $0 || self.lastFailure?.reason.isAnswer ?? false } ?? false }

    /// True if the last check failed because nothing beyond this host or its gateway answers.
    var isWayOutFailing: Bool { self.isReached == false && self.lastFailure?.party.isWayOut ?? false }

    fileprivate mutating func record(_ outcome: TargetCheck.Outcome, since start: WallTime?, at now: WallTime) {
        let since = self.isReached == false ? self.lastFailure?.since : start
        self.certificateExpiry = outcome.certificateExpiry ?? self.certificateExpiry
        self.isReached = outcome.failure == nil
        if let failure = outcome.failure {
            self.lastFailure = Failure(
                time: now, since: since, reason: failure.reason, party: failure.party, text: failure.text,
                advice: failure.advice)
        } else {
            self.lastSuccess = now
            self.phases = outcome.phases
        }
    }
}

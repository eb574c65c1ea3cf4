package import TidegateCore

/// Whether a condition holds and, if not, what is missing.
package enum WaitOutcome: Sendable, Hashable {
    /// It holds.
    case satisfied
    /// It does not hold: the first failing rung, the reason, and a sentence without a full stop.
    case unsatisfied(Rung, UnreachableReason?, sentence: String)

    /// True when the condition holds.
    package var isSatisfied: Bool { self == .satisfied }
}

/// The results of checks, for conditions that the kernel's state alone does not decide.
package enum ConditionEvidence: Sendable, Hashable {
    /// Nothing was checked yet.
    case pending
    /// The host, the URL or the name answered as expected.
    case passed
    /// It did not answer as expected: the reason, and the unexpected answer if that helps.
    case failed(UnreachableReason, detail: String? = nil)
    /// The findings on the condition's rung, one report for each family.
    case rungs([RungReport])
}

extension WaitCondition {
    /// Evaluates the condition against a status.
    ///
    /// - Parameters:
    ///   - family: Only this family counts (`-4`, `-6`).
    ///   - evidence: The results of checks, for conditions that the status does not decide.
    package func evaluate(
        _ status: ReachabilityStatus, family: AddressFamily? = nil, evidence: ConditionEvidence = .pending
    ) -> WaitOutcome {
        guard status.families.contains(where: { $0.verdict.level != .unknown }) else {
            return .failing(.monitorDown, UnreachableReason.monitorDown.description)
        }
        let route = WaitCondition.route(family, status)
        return switch self {
        case .carrier(let interface): WaitCondition.carrier(interface, status)
        case .address(let interface, let own): WaitCondition.address(interface, own ?? family, status)
        case .route(let own): WaitCondition.route(own ?? family, status)
        case .gateway: WaitCondition.rung(.gateway, evidence, route, pending: "the gateway has not answered yet")
        case .dns: WaitCondition.rung(.dns, evidence, route, pending: "no resolver has answered yet")
        case .internet:
            WaitCondition.rung(.internet, evidence, route, pending: "no internet check has been answered yet")
        // /etc/hosts and a resolver on this host need no default path.
        case .name(let name):
            evidence == .passed ? .satisfied : route.then(evidence.outcome(of: name, pending: .dns))
        case .host(let target, nil): WaitCondition.path(to: target, family, status)
        case .host(let target, let kind?):
            WaitCondition.path(to: target, family, status)
                .then(evidence.outcome(of: target.description, pending: kind.stage.rung))
        case .url(let url):
            WaitCondition.path(to: url.location.target, family, status)
                .then(evidence.outcome(of: url.text, pending: .http))
        }
    }

    // A resolver on this host or its link needs no default path, so its own rung counts before those below.
    private static func rung(
        _ rung: Rung, _ evidence: ConditionEvidence, _ below: WaitOutcome, pending: String
    ) -> WaitOutcome {
        guard case .rungs(let reports) = evidence, !reports.isEmpty else {
            return below.isSatisfied ? .unsatisfied(rung, nil, sentence: pending) : below
        }
        let holds = reports.contains { $0.status == .ok || $0.status == .notApplicable }
        if holds, below.isSatisfied || rung == .dns { return .satisfied }
        guard below.isSatisfied else { return below }
        let worst = reports.first { $0.status == .bad } ?? reports[0]
        let phrase = worst.reason.map { $0.description }
        let clause = worst.evidence.first
        let isSaid = phrase.map { clause?.hasPrefix($0) ?? false } ?? true
        let text = isSaid ? [clause] : [phrase, clause]
        let sentence = text.compactMap { $0 }.joined(separator: ": ")
        return .unsatisfied(rung, worst.reason, sentence: sentence.isEmpty ? "not known" : sentence)
    }

    private static func carrier(_ name: String?, _ status: ReachabilityStatus) -> WaitOutcome {
        if let name {
            guard let link = status.links.first(where: { $0.isNamed(name) }) else {
                return .failing(.noInterface, "there is no interface \(name)")
            }
            return link.reason.map { .failing($0, $0.description(ofLink: name)) } ?? .satisfied
        }
        let links = status.links.filter { $0.kind != .loopback && !$0.isExcluded }
        guard !links.contains(where: \.isUsable) else { return .satisfied }
        let best = links.max {
            LinkEvaluator.rung(of: $0.reason ?? .noInterface) < LinkEvaluator.rung(of: $1.reason ?? .noInterface)
        }
        let reason = best?.reason ?? .noInterface
        return .failing(reason, reason.description(ofLink: best?.name))
    }

    private static func address(
        _ name: String?, _ family: AddressFamily?, _ status: ReachabilityStatus
    ) -> WaitOutcome {
        let carrier = self.carrier(name, status)
        guard carrier.isSatisfied else { return carrier }
        let links = status.links.filter { link in
            name.map(link.isNamed) ?? (link.kind != .loopback && !link.isExcluded)
        }
        let families = family.map { [$0] } ?? AddressFamily.allCases
        // A loopback interface may have addresses that other hosts reach; it counts if it is named.
        let isThere = links.contains { link in
            link.reason == nil && families.contains { link.usableFamilies.contains($0) }
        }
        let verdicts = status.families.filter { families.contains($0.family) }.map(\.verdict)
        // A default path has a source address, which may be on a loopback interface.
        guard !isThere, name != nil || !verdicts.contains(where: { $0.level >= .routed }) else { return .satisfied }
        let reasons = verdicts.compactMap(\.reason)
        let reason = reasons.first { $0.rung == .address } ?? .noAddress
        let place = [name.map { "on \($0)" }, family.map { "(\(VerdictDescriptions.short($0)))" }].compactMap { $0 }
        return .failing(reason, ([reason.description] + place).joined(separator: " "))
    }

    private static func route(_ family: AddressFamily?, _ status: ReachabilityStatus) -> WaitOutcome {
        let families = family.map { [$0] } ?? AddressFamily.allCases
        let verdicts = status.families.filter { families.contains($0.family) }.map(\.verdict)
        guard !verdicts.contains(where: { $0.level >= .routed }) else { return .satisfied }
        // The family with the higher level gives the reason.
        let best = verdicts.max { $0.level < $1.level }
        return .failing(best?.reason ?? .noRoute, VerdictDescriptions.faults(in: status, of: families))
    }

    private static func path(
        to target: Target, _ family: AddressFamily?, _ status: ReachabilityStatus
    ) -> WaitOutcome {
        guard let verdict = status.targets.first(where: { $0.target == target }) else {
            return .unsatisfied(.route, nil, sentence: "\(target) is not watched")
        }
        guard !verdict.addresses.isEmpty else {
            guard verdict.verdict.level < .routed, let reason = verdict.verdict.reason else {
                return .unsatisfied(.dns, nil, sentence: "\(target.shownHost) is not resolved yet")
            }
            let phrase = VerdictDescriptions.phrase(verdict.verdict, among: status.links) ?? "no answer"
            return .failing(reason, "\(target.shownHost): \(phrase)")
        }
        let own = verdict.addresses.filter { family == nil || $0.address.family == family }
        guard let best = VerdictReducer.best(own) else {
            let word = family.map(VerdictDescriptions.short) ?? ""
            return .failing(.nameNotFound, "\(target.shownHost) has no \(word) address")
        }
        // A gain counts once it is published.
        let isPublished = family != nil || verdict.verdict.level >= .routed
        if best.level >= .routed, isPublished { return .satisfied }
        let reason = best.reason ?? verdict.verdict.reason ?? .noRoute
        let unreachable = Verdict(level: .none, reason: reason)
        return .failing(
            reason, "\(target): \(VerdictDescriptions.phrase(unreachable, among: status.links) ?? "no route")")
    }
}

extension ConditionEvidence {
    fileprivate func outcome(of subject: String, pending rung: Rung) -> WaitOutcome {
        switch self {
        case .passed: .satisfied
        case .pending, .rungs:
            .unsatisfied(
                rung, nil, sentence: rung == .dns ? "\(subject) is not resolved yet" : "\(subject) has not answered yet"
            )
        case .failed(let reason, let detail): .failing(reason, "\(subject): \(detail ?? reason.description)")
        }
    }
}

extension WaitOutcome {
    /// The first of two outcomes that does not hold.
    fileprivate func then(_ next: WaitOutcome) -> WaitOutcome { self.isSatisfied ? next : self }

    fileprivate static func failing(_ reason: UnreachableReason, _ sentence: String) -> WaitOutcome {
        .unsatisfied(reason.rung, reason, sentence: sentence)
    }
}

/// Why a target answers or does not: both families' ladders, the conclusion, the responsible party, and what to do.
public struct Explanation: Sendable, Hashable {
    /// The common conclusion of the ladders.
    public enum Conclusion: String, Sendable, CaseIterable, Hashable {
        /// The target was reached.
        case works
        /// It was reached, and there is something to know: ``Explanation/findings``.
        case worksBut
        /// It was not reached.
        case broken
        /// Nothing was sent, so nothing is known.
        case notChecked
    }

    /// One family's ladder, from the lowest rung to the highest.
    public struct Ladder: Sendable, Hashable {
        /// The IP version.
        public var family: AddressFamily
        /// Every rung in order, checked or not.
        public var rungs: [RungReport]
        /// What is wrong; nil if nothing is.
        package var cause: Cause?
        private var failing: Rung?

        /// A ladder from its parts; `failing` is the rung that the cause is about, or the lowest bad one.
        package init(family: AddressFamily, rungs: [RungReport], cause: Cause? = nil, failing: Rung? = nil) {
            (self.family, self.rungs, self.cause, self.failing) = (family, rungs, cause, failing)
        }

        /// The rung that fails: where the cause is, or else the lowest bad one; nil if none does.
        public var firstFailure: RungReport? {
            self.rungs.first { $0.status == .bad && (self.failing == nil || $0.rung == self.failing) }
        }

        // The highest rung of the target that holds.
        fileprivate var top: RungReport? {
            self.rungs.last { $0.status == .ok && [.tcp, .tls, .http].contains($0.rung) }
        }

        fileprivate var result: String? {
            let time = self.top?.values.duration.map { " in \($0.shortText)" } ?? ""
            switch self.top?.rung {
            case .http: return self.top?.values.status.map { "\($0)\(time)" }
            case .tls: return "TLS\(time)"
            case .tcp: return "connected\(time)"
            default: return nil
            }
        }

        var json: JSONValue {
            [
                "rungs": .array(self.rungs.map(\.json)), "firstFailure": .optional(self.firstFailure?.rung.rawValue),
                "cause": .optional(self.cause?.code),
            ]
        }
    }

    /// The target or URL as it was given.
    public var target: String
    /// What its name resolves to; the address itself if the host is one.
    public var addresses: [IPAddress]
    /// IPv4, then IPv6; only the requested family if one was.
    public var ladders: [Ladder]
    /// The common conclusion of the ladders.
    public var conclusion: Conclusion
    /// What is worth knowing about a target that was reached, one clause each: a dead second address, a dead name server.
    public var findings: [String] = []
    /// The IP versions that should reach a target that was reached over the other one, and do not.
    package var failingFamilies: [AddressFamily] = []
    /// The failure that matters: that of the family that got furthest, nil if a family reaches the target.
    public var firstFailure: RungReport?
    /// What is wrong, of that family; nil if nothing is.
    package var cause: Cause?
    /// The responsible party; nil only when nothing failed.
    public var party: FaultParty?
    /// The advice in one or two plain sentences; empty if there is nothing to do.
    public var advice: String = ""
    /// The measured quality of the path to a target that was reached; nil if it was not measured.
    package var quality: Quality?

    /// The target of a diagnosis of every way out.
    package static let internet = "the internet"

    /// The conclusion in one sentence of at most 90 characters, without the target's name if it works.
    package var sentence: String {
        let isInternet = self.target == Self.internet
        let works = isInternet ? "online" : "works"
        switch self.conclusion {
        case .works: return Sentence.fitting(works + (isInternet ? "" : self.result.map { ": \($0)" } ?? ""))
        case .worksBut:
            if let slow = self.quality?.cause { return Sentence.fitting("slow: \(Cause.slow(slow))") }
            let failing = self.failingFamilies.first?.name
            let text = failing.map { "\($0) does not" + (isInternet ? " work" : "") } ?? self.findings.first
            return Sentence.fitting(works + (text.map { ", but \($0)" } ?? ""))
        case .broken, .notChecked:
            let target = (try? HTTPURL(self.target).target) ?? (try? Target(self.target))
            return self.cause?.sentence(about: target)
                ?? Sentence.fitting(self.firstFailure?.evidence.first ?? "not checked")
        }
    }

    /// How each family reaches the target, and the times of what comes first: `200 in 0.4 ms (IPv4); connect 0.2 ms`.
    package var result: String? {
        let ladders = self.ladders.filter { $0.firstFailure == nil }
        let results = ladders.compactMap { ladder in ladder.result.map { "\($0) (\(ladder.family.name))" } }
        guard !results.isEmpty else { return nil }
        let steps = [(Rung.dns, "name"), (.tcp, "connect"), (.tls, "TLS")].compactMap { rung, name in
            ladders[0].rungs.first { $0.rung == rung && $0.status == .ok && rung != ladders[0].top?.rung }?
                .values.duration.map { "\(name) \($0.shortText)" }
        }
        return results.joined(separator: ", ") + (steps.isEmpty ? "" : "; \(steps.joined(separator: ", "))")
    }

    /// The object that `explain --json` gives.
    package var json: JSONValue { self.json(saying: self.sentence) }

    /// What was measured, as an incident keeps it: each family's rungs, and the evidence of the one that fails.
    package var measured: JSONValue {
        let families = self.ladders.map { ladder in
            let failure = ladder.firstFailure
            let rungs = ladder.rungs.filter { $0.basis != nil }.map { rung in
                JSONValue.Member(rung.rung.rawValue, .string(rung.status.rawValue))
            }
            return JSONValue.Member(
                ladder.family.rawValue,
                [
                    "rungs": .object(rungs), "firstFailure": .optional(failure?.rung.rawValue),
                    "evidence": .texts(failure?.evidence.prefix(8) ?? []),
                ])
        }
        return [
            "conclusion": .string(self.conclusion.rawValue), "cause": .optional(self.cause?.code),
            "sentence": .string(self.sentence), "families": .object(families),
        ]
    }

    fileprivate func json(saying sentence: String) -> JSONValue {
        [
            "schema": 1, "target": .string(self.target), "addresses": .texts(self.addresses.map(\.description)),
            "families": .object(self.ladders.map { .init($0.family.rawValue, $0.json) }),
            "firstFailure": .optional(self.firstFailure?.rung.rawValue), "party": .optional(self.party?.rawValue),
            "advice": .string(self.advice), "conclusion": .string(self.conclusion.rawValue),
            "cause": .optional(self.cause?.code), "sentence": .string(sentence), "findings": .texts(self.findings),
        ]
    }
}

extension Explanation {
    /// An explanation without a failure.
    package init(target: String, addresses: [IPAddress], ladders: [Ladder], conclusion: Conclusion) {
        (self.target, self.addresses, self.ladders, self.conclusion) = (target, addresses, ladders, conclusion)
    }
}

/// The diagnosis of this host: the result of `explain` without an argument, or that a silence is being checked.
public struct HostDiagnosis: Sendable, Hashable {
    /// The progress of the diagnosis.
    public enum State: String, Sendable, Hashable {
        /// A packet was not answered, and the reason is not decided yet.
        case checking
        /// The measurement holds until evidence contradicts it.
        case decided
    }

    /// The ladders, the responsible party, and what to do; while a silence is checked, those from before it.
    public var explanation: Explanation
    /// When the measurement ended.
    public var time: WallTime
    /// While something fails or is checked, the first silence; otherwise since when nothing has failed, if that is known.
    public var since: WallTime?
    /// The progress of the diagnosis.
    public var state: State

    /// A diagnosis from its parts.
    package init(explanation: Explanation, time: WallTime, since: WallTime? = nil, state: State = .decided) {
        (self.explanation, self.time, self.since, self.state) = (explanation, time, since, state)
    }

    /// True if it is decided that something fails.
    package var isBroken: Bool { self.state == .decided && self.explanation.conclusion == .broken }

    /// The object that `/api/v1/status` has as `diagnosis`: that of `explain --json`, and when it was made.
    package var json: JSONValue {
        self.explanation.json(saying: self.sentence).adding(.init("state", .string(self.state.rawValue)))
            .adding(.init("time", .string(self.time.description)))
            .adding(.init("since", .optional(self.since?.description)))
    }

    /// The diagnosis in one sentence of at most 90 characters.
    package var sentence: String {
        if self.state == .decided { return self.explanation.sentence }
        return "Checking since \((self.since ?? self.time).clockTime) UTC: something does not answer."
    }
}

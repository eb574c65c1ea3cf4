internal import TidegateCore

/// The one diagnosis of this host, which headline, status, log and metrics show: kept until evidence contradicts it.
struct StandingDiagnosis: Sendable, Hashable {
    /// A moment on both clocks: the wall clock may be set during an outage.
    struct Moment: Sendable, Hashable, Comparable {
        let monotonic: MonotonicTime
        let wall: WallTime

        static func < (left: Moment, right: Moment) -> Bool { left.monotonic < right.monotonic }
    }

    /// The current diagnosis; nil until the first suspicion or measurement on this path.
    private(set) var latest: HostDiagnosis?
    /// Counts the paths: a measurement that began on another one proves nothing.
    private(set) var path = 0
    // The first unanswered packet, until its reason is decided.
    private var silence: Moment?

    /// A packet that was sent at `moment` has not been answered.
    ///
    /// In a known outage it is not news.
    mutating func suspect(since moment: Moment) {
        if let latest = self.latest, latest.isBroken { return }
        self.silence = self.silence.map { min($0, moment) } ?? moment
        let unmeasured = Explanation(
            target: ExplainTarget.internet.description, addresses: [], ladders: [], conclusion: .notChecked)
        var checking = self.latest ?? HostDiagnosis(explanation: unmeasured, time: moment.wall)
        (checking.state, checking.since) = (.checking, self.silence?.wall)
        self.latest = checking
    }

    /// The kernel's state has changed: earlier measurements prove nothing about the present one.
    mutating func pathChanged(to verdict: Verdict, at moment: Moment) {
        self.latest = nil
        self.path += 1
        // Since when the kernel has known that nothing can be sent.
        self.silence = verdict.level < .routed && verdict.level != .unknown ? moment : nil
    }

    /// A measurement produced this between two moments.
    mutating func record(_ explanation: Explanation, from start: Moment, to end: Moment) {
        let before = self.latest
        var found = HostDiagnosis(explanation: explanation, time: end.wall)
        guard explanation.conclusion == .broken else {
            // A silence that began after the first packets of the measurement is not explained by it.
            if let silence = self.silence, start < silence {
                self.latest = found
                return self.suspect(since: silence)
            }
            self.silence = nil
            let wasSound = before.map { !$0.isBroken && $0.state == .decided } ?? false
            found.since = wasSound ? before?.since : end.wall
            self.latest = found
            return
        }
        found.since = before.flatMap { $0.isBroken ? $0.since : nil } ?? self.silence?.wall ?? start.wall
        // An inconclusive measurement does not contradict a conclusive one.
        if explanation.party == .unknown, let before, before.isBroken, before.explanation.party != .unknown {
            found.explanation = before.explanation
        }
        self.silence = nil
        self.latest = found
    }
}

extension HostDiagnosis {
    /// By family with a route, why nothing works over it; empty unless the host as a whole is cut off.
    var failing: [AddressFamily: UnreachableReason] {
        guard self.isBroken else { return [:] }
        return self.explanation.ladders.reduce(into: [:]) { failing, ladder in
            // A rung of this host is in the kernel's own verdict.
            guard let failure = ladder.firstFailure, !failure.rung.isOfKernel else { return }
            failing[ladder.family] = ladder.cause?.party == .unknown ? .timeout : failure.reason ?? .limited
        }
    }

    /// True if both would produce the same event.
    func isSame(as other: HostDiagnosis?) -> Bool {
        guard let other, self.state == other.state, self.isBroken == other.isBroken else { return false }
        return !self.isBroken || self.explanation.cause?.code == other.explanation.cause?.code
    }
}

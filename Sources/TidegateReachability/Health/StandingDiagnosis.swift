internal import TidegateAttribution
internal import TidegateCore

/// The single diagnosis of this host that headline, status, log and metrics show; kept until evidence contradicts it.
struct StandingDiagnosis: Sendable, Hashable {
    /// A moment on both clocks: the wall clock may be set during an outage.
    struct Moment: Sendable, Hashable, Comparable {
        let monotonic: MonotonicTime
        let wall: WallTime

        /// The moment at another time of the monotonic clock.
        func moved(to moment: MonotonicTime) -> Moment {
            Moment(monotonic: moment, wall: self.wall + (moment - self.monotonic))
        }

        static func < (left: Moment, right: Moment) -> Bool { left.monotonic < right.monotonic }
    }

    /// The current diagnosis; nil until the first suspicion or measurement on this path.
    private(set) var latest: HostDiagnosis?
    /// Counts changes of path: a measurement that began on an earlier path proves nothing.
    private(set) var path = 0
    // When the first unanswered packet was sent, until its cause is decided.
    private var silence: Moment?
    // True if a name server on the own link answered in the outage, so that its answers do not end it.
    private var isForwarderKept = false
    // True if the last measurement blames the resolver for a known outage of the way out.
    private var isDoubted = false

    /// Records that a packet sent at `moment` has not been answered.
    ///
    /// In a known outage this is not news.
    mutating func suspect(since moment: Moment) {
        if let latest = self.latest, latest.isBroken { return }
        self.silence = self.silence.map { min($0, moment) } ?? moment
        let unmeasured = Explanation(
            target: ExplainTarget.internet.description, addresses: [], ladders: [], conclusion: .notChecked)
        var checking = self.latest ?? HostDiagnosis(explanation: unmeasured, time: moment.wall)
        (checking.state, checking.since) = (.checking, self.silence?.wall)
        self.latest = checking
    }

    /// Starts anew on another path, or after a sleep: earlier measurements prove nothing any more.
    ///
    /// `loss` is since when the kernel has known that nothing can be sent.
    mutating func restart(lostSince loss: Moment?) {
        self.latest = nil
        self.path += 1
        self.silence = loss
    }

    /// Records a measurement made between two moments.
    mutating func record(_ findings: HostFindings, from start: Moment, to end: Moment) {
        let explanation = findings.explanation
        // Without packets there is no measurement, and the next diagnosis decides.
        guard explanation.cause != .thisHost(.noDescriptor) else { return }
        let before = self.latest
        // A server that answered all the time does not show that the outage has ended.
        let isBeyondBroken = before?.isBroken ?? false && [.upstream, .path].contains(before?.explanation.party)
        let isProven = findings.proof.evidence.values.contains { $0.witnesses.contains(where: \.isEnd) }
        if isBeyondBroken, self.isForwarderKept, explanation.conclusion != .broken, !isProven { return }
        var found = HostDiagnosis(explanation: explanation, time: end.wall)
        guard explanation.conclusion == .broken else {
            // The measurement does not explain a silence that began after its first packets.
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
        self.isForwarderKept = findings.isForwarderAnswering || isBeyondBroken && self.isForwarderKept
        found.since = before.flatMap { $0.isBroken ? $0.since : nil } ?? self.silence?.wall ?? start.wall
        // An inconclusive measurement does not contradict a conclusive one. A resolver recovers a moment after the way
        // out, so a single measurement does not blame it.
        let isDoubt =
            explanation.cause?.isOfResolver ?? false && before?.explanation.party?.isWayOut ?? false && !self.isDoubted
        // Without a walk it is not seen where the way ends.
        let isLess = !findings.walked && explanation.party == .upstream && isBeyondBroken
        if explanation.party == .unknown || isDoubt || isLess, let before, before.isBroken,
            before.explanation.party != .unknown
        {
            found.explanation = before.explanation
        }
        self.isDoubted = isDoubt
        self.silence = nil
        self.latest = found
    }
}

extension Cause {
    fileprivate var isOfResolver: Bool { if case .resolver = self { true } else { false } }
}

extension HostDiagnosis {
    /// Why nothing works, by family with a route; empty unless the host as a whole is cut off.
    var failing: [AddressFamily: UnreachableReason] {
        guard self.isBroken else { return [:] }
        return self.explanation.ladders.reduce(into: [:]) { failing, ladder in
            // Failures of this host's own rungs are already in the kernel's verdict.
            guard let failure = ladder.firstFailure, !failure.rung.isOfKernel else { return }
            failing[ladder.family] = ladder.cause?.party == .unknown ? .timeout : failure.reason ?? .limited
        }
    }

    /// True if both produce the same event.
    func isSame(as other: HostDiagnosis?) -> Bool {
        guard let other, self.state == other.state, self.isBroken == other.isBroken else { return false }
        return !self.isBroken || self.explanation.cause?.code == other.explanation.cause?.code
    }
}

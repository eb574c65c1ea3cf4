internal import TidegateCore

/// Debounces the verdicts of one scope: a loss is reported immediately, a gain once it has been stable.
struct VerdictDebouncer {
    /// How long a gain must be stable.
    struct Times: Hashable {
        var gating = Duration.milliseconds(200)
        var published = Duration.milliseconds(500)
        /// Why a gain is held back for longer than usual; nil if it is not.
        ///
        /// Reported once the gain would have counted.
        var reason: UnreachableReason?

        static let usual = Times()

        /// For a link that keeps losing its carrier.
        static func flapping(_ hold: Duration) -> Times {
            Times(
                gating: max(hold, self.usual.gating), published: max(hold, self.usual.published), reason: .flapping)
        }
    }

    enum Input {
        /// An evaluation produced this verdict; `detection` is the time from the kernel's message to it.
        ///
        /// `published` is what status and events show instead of the verdict that gates go by; nil for the same.
        case verdict(Verdict, published: Verdict? = nil, Times, detection: Duration?)
        /// Time has passed.
        case tick
    }

    enum Effect: Hashable {
        /// The verdict that gates go by has changed.
        case gatingChanged
        /// The published verdict has changed; nil and nil when it is the first.
        case published(from: Verdict?, lasted: Duration?, detection: Duration?)
    }

    /// The verdict for gates.
    private(set) var gating = Debounced()
    /// The verdict for status, events and metrics.
    private(set) var published = Debounced()

    /// When a gain becomes stable; nil if none is pending.
    var deadline: MonotonicTime? {
        guard let gating = self.gating.pending?.next else { return self.published.pending?.next }
        guard let published = self.published.pending?.next else { return gating }
        return min(gating, published)
    }

    /// Reports the next verdict immediately: it answers another question than the last one did.
    mutating func reset() {
        self.gating.reset()
        self.published.reset()
    }

    /// True if these verdicts would change nothing.
    func isStable(at verdict: Verdict, published: Verdict) -> Bool {
        self.gating.pending == nil && self.published.pending == nil && self.gating.verdict == verdict
            && self.published.verdict == published
    }

    /// The verdict that gates go by, or will once it is stable; nil before the first one.
    var latest: Verdict? { self.gating.pending?.verdict ?? self.gating.verdict }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        let (gatingBefore, before, since) = (self.gating.verdict, self.published.verdict, self.published.since)
        switch input {
        case .verdict(let verdict, let published, let times, let detection):
            self.gating.update(verdict, times, \.gating, detection, at: now)
            self.published.update(published ?? verdict, times, \.published, detection, at: now)
        case .tick:
            self.gating.tick(at: now)
            self.published.tick(at: now)
        }
        var effects: [Effect] = []
        if self.gating.verdict != gatingBefore { effects.append(.gatingChanged) }
        if let verdict = self.published.verdict, before.map({ !$0.isEquivalent(to: verdict) }) ?? true {
            effects.append(
                .published(
                    from: before, lasted: before == nil ? nil : now - since, detection: self.published.detection))
        }
        return effects
    }

    /// A verdict, and the one that is pending to replace it.
    struct Debounced {
        struct Pending {
            var verdict: Verdict
            var since: MonotonicTime
            var deadline: MonotonicTime
            /// Why it is held back for longer than usual, and when it would have counted; nil if it is not, or if that
            /// was reported.
            var hold: (reason: UnreachableReason, since: MonotonicTime)?
            var detection: Duration?

            /// When something changes next.
            var next: MonotonicTime { min(self.hold?.since ?? self.deadline, self.deadline) }
        }

        private(set) var verdict: Verdict?
        /// When the level was reached.
        private(set) var since = MonotonicTime(nanoseconds: 0)
        fileprivate private(set) var detection: Duration?
        fileprivate private(set) var pending: Pending?
        private var isNew = true

        fileprivate mutating func reset() { self.isNew = true }

        fileprivate mutating func update(
            _ verdict: Verdict, _ times: Times, _ time: KeyPath<Times, Duration>, _ detection: Duration?,
            at now: MonotonicTime
        ) {
            guard !self.isNew, let current = self.verdict, current.level != .unknown, verdict.level > current.level
            else {
                return self.commit(verdict, detection, at: now)
            }
            // Only a verdict that stays on its level is stable; a further step up starts the wait again.
            let since = self.pending.flatMap { $0.verdict.level == verdict.level ? $0.since : nil } ?? now
            self.pending = Pending(
                verdict: verdict, since: since, deadline: since + times[keyPath: time],
                hold: times.reason.map { ($0, since + Times.usual[keyPath: time]) }, detection: detection)
            self.tick(at: now)
        }

        fileprivate mutating func tick(at now: MonotonicTime) {
            guard let pending = self.pending else { return }
            if pending.deadline <= now { return self.commit(pending.verdict, pending.detection, at: now) }
            guard let hold = pending.hold, hold.since <= now else { return }
            if let level = self.verdict?.level, level < .routed { self.verdict?.reason = hold.reason }
            self.pending?.hold = nil
        }

        private mutating func commit(_ verdict: Verdict, _ detection: Duration?, at now: MonotonicTime) {
            if self.verdict?.level != verdict.level { self.since = now }
            self.verdict = verdict
            self.detection = detection
            self.pending = nil
            self.isNew = false
        }
    }
}

internal import TidegateCore

/// Debounces the verdicts of one scope: a loss is reported immediately, a gain after it has been stable.
struct VerdictDebouncer {
    /// How long a gain must be stable.
    struct Times: Hashable {
        var gating = Duration.milliseconds(200)
        var published = Duration.milliseconds(500)
        /// Why a gain is held back for longer than usual; nil if it is not.
        ///
        /// It is reported at the time when the gain would normally have counted.
        var reason: UnreachableReason?

        static let usual = Times()

        /// For a link that keeps losing its carrier.
        static func flapping(_ hold: Duration) -> Times {
            Times(
                gating: max(hold, self.usual.gating), published: max(hold, self.usual.published), reason: .flapping)
        }
    }

    enum Input {
        /// An evaluation produced this verdict; `detection` is the time since the kernel's message.
        ///
        /// `published` replaces the verdict for gates in status and events; nil if they are the same.
        case verdict(Verdict, published: Verdict? = nil, Times, detection: Duration?)
        /// Time has passed.
        case tick
    }

    enum Effect: Hashable {
        /// The verdict for gates has changed.
        case gatingChanged
        /// The published verdict has changed; `from` and `lasted` are nil for the first one.
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

    /// Reports the next verdict immediately, because it answers a different question than the previous one.
    mutating func reset() {
        self.gating.reset()
        self.published.reset()
    }

    /// True if these verdicts change nothing.
    func isStable(at verdict: Verdict, published: Verdict) -> Bool {
        self.gating.pending == nil && self.published.pending == nil && self.gating.verdict == verdict
            && self.published.verdict == published
    }

    /// The verdict for gates, current or pending; nil before the first one.
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

    /// A verdict, and the pending one that will replace it.
    struct Debounced {
        struct Pending {
            var verdict: Verdict
            var since: MonotonicTime
            var deadline: MonotonicTime
            /// Why it is held back for longer than usual, and when it would normally have counted; nil if it is not
            /// held back or the reason has been reported.
            var hold: (reason: UnreachableReason, since: MonotonicTime)?
            var detection: Duration?

            /// When the next change is due.
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
            // Only a verdict that stays at its level is stable; a further step up restarts the wait.
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

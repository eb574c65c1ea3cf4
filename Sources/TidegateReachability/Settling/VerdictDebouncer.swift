internal import TidegateCore

/// Settles one scope's verdicts: what is lost is told at once, what is gained once it is stable.
struct VerdictDebouncer {
    /// How long a gain has to be stable.
    struct Times: Hashable {
        var gates = Duration.milliseconds(200)
        var people = Duration.milliseconds(500)

        static let usual = Times()
        /// For a link that keeps losing its carrier.
        static let flapping = Times(gates: .seconds(5), people: .seconds(5))
    }

    enum Input {
        /// A look came to this verdict; `detection` is the time from the kernel's message to it.
        case judged(Verdict, Times, detection: Duration?)
        /// Time has passed.
        case tick
    }

    enum Effect: Hashable {
        /// Gates have to know.
        case tellGates
        /// People have to know.
        case tellPeople(from: Verdict?, lasted: Duration?, detection: Duration?)
    }

    /// What gates go by.
    private(set) var gates = Debounced()
    /// What people see.
    private(set) var people = Debounced()

    /// When a gain becomes stable; nil where none is waiting.
    var deadline: MonotonicTime? {
        guard let gates = self.gates.pending?.deadline else { return self.people.pending?.deadline }
        guard let people = self.people.pending?.deadline else { return gates }
        return min(gates, people)
    }

    /// Tells the next verdict at once, whatever it is: it answers another question than the last one did.
    mutating func startAnew() {
        self.gates.startAnew()
        self.people.startAnew()
    }

    /// True where this verdict would change nothing.
    func isSettled(at verdict: Verdict) -> Bool {
        self.gates.pending == nil && self.people.pending == nil && self.gates.verdict == verdict
            && self.people.verdict == verdict
    }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        let (gatesBefore, peopleBefore, peopleSince) = (self.gates.verdict, self.people.verdict, self.people.since)
        switch input {
        case .judged(let verdict, let times, let detection):
            self.gates.judged(verdict, holding: times.gates, detection, at: now)
            self.people.judged(verdict, holding: times.people, detection, at: now)
        case .tick:
            self.gates.tick(at: now)
            self.people.tick(at: now)
        }
        var effects: [Effect] = []
        if self.gates.verdict != gatesBefore { effects.append(.tellGates) }
        if let verdict = self.people.verdict, peopleBefore.map({ !$0.isEquivalent(to: verdict) }) ?? true {
            effects.append(
                .tellPeople(
                    from: peopleBefore, lasted: peopleBefore == nil ? nil : now - peopleSince,
                    detection: self.people.detection))
        }
        return effects
    }

    /// A verdict with the one that waits to replace it.
    struct Debounced {
        struct Pending {
            var verdict: Verdict
            var since: MonotonicTime
            var deadline: MonotonicTime
            var detection: Duration?
        }

        private(set) var verdict: Verdict?
        /// When the level was reached.
        private(set) var since = MonotonicTime(nanoseconds: 0)
        fileprivate private(set) var detection: Duration?
        fileprivate private(set) var pending: Pending?
        private var isNew = true

        fileprivate mutating func startAnew() { self.isNew = true }

        fileprivate mutating func judged(
            _ verdict: Verdict, holding time: Duration, _ detection: Duration?, at now: MonotonicTime
        ) {
            guard !self.isNew, let current = self.verdict, current.level != .unknown, verdict.level > current.level
            else {
                return self.settle(verdict, detection, at: now)
            }
            // Stable is what stays on its level; a step up on the way begins anew.
            let since = self.pending.flatMap { $0.verdict.level == verdict.level ? $0.since : nil } ?? now
            self.pending = Pending(verdict: verdict, since: since, deadline: since + time, detection: detection)
            self.tick(at: now)
        }

        fileprivate mutating func tick(at now: MonotonicTime) {
            guard let pending = self.pending, pending.deadline <= now else { return }
            self.settle(pending.verdict, pending.detection, at: now)
        }

        private mutating func settle(_ verdict: Verdict, _ detection: Duration?, at now: MonotonicTime) {
            if self.verdict?.level != verdict.level { self.since = now }
            self.verdict = verdict
            self.detection = detection
            self.pending = nil
            self.isNew = false
        }
    }
}

internal import TidegateCore

/// Decides whether an origin may be contacted: after too many consecutive failures it pauses, and then one task goes
/// first.
struct Circuit: Sendable {
    private enum State: Sendable, Hashable {
        case closed(failures: Int)
        case open(until: MonotonicTime, times: Int)
        case probing(by: UInt64, times: Int)
    }

    enum Pass: Sendable, Hashable {
        case through
        /// The task goes first, and the others wait for its result.
        case asProbe
        /// The circuit is open; a task that receives a moment must check again then.
        case wait(until: MonotonicTime?)
    }

    private var state = State.closed(failures: 0)
    /// Waiting tasks in order of arrival; the first one has the timer.
    var waiting = WaitingTasks()

    /// True if it equals a new circuit.
    var isFresh: Bool { self.state == .closed(failures: 0) && self.waiting.isEmpty }

    mutating func pass(_ task: UInt64, at now: MonotonicTime) -> Pass {
        switch self.state {
        case .closed: return .through
        case .probing(let probe, _): return probe == task ? .asProbe : .wait(until: nil)
        case .open(let until, let times):
            guard until <= now else { return .wait(until: until) }
            self.state = .probing(by: task, times: times)
            return .asProbe
        }
    }

    /// Records a failure of the origin itself; returns how long the circuit is now open, if it was closed.
    ///
    /// `spread`, 0 to 1, extends the time by up to a fifth.
    mutating func failed(_ task: UInt64, _ policy: CircuitPolicy, at now: MonotonicTime, spread: Double) -> Duration? {
        switch self.state {
        case .closed(let failures):
            guard failures + 1 >= policy.failures else {
                self.state = .closed(failures: failures + 1)
                return nil
            }
            return self.open(times: 1, policy, at: now, spread)
        case .probing(let probe, let times):
            // Attempts from before it opened may still end.
            return probe == task ? self.open(times: times + 1, policy, at: now, spread) : nil
        case .open: return nil
        }
    }

    private mutating func open(
        times: Int, _ policy: CircuitPolicy, at now: MonotonicTime, _ spread: Double
    ) -> Duration {
        let pause = min(policy.cap, policy.pause * times)
        let whole = pause + pause * (0.2 * min(1, max(0, spread)))
        self.state = .open(until: now + whole, times: times)
        return whole
    }

    /// Records that the origin answers; true if the circuit was open.
    mutating func succeeded() -> Bool {
        defer { self.state = .closed(failures: 0) }
        return if case .closed = self.state { false } else { true }
    }

    /// Records that the probing task ended, waits elsewhere or was suspended without a result: the next one may go.
    ///
    /// False if this task was not the probe.
    mutating func probeLeft(_ task: UInt64, at now: MonotonicTime) -> Bool {
        guard case .probing(let probe, let times) = self.state, probe == task else { return false }
        self.state = .open(until: now, times: times)
        return true
    }
}

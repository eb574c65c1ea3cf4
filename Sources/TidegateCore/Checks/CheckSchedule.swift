/// When recurring checks run: each at its own interval with jitter, many of them spread, none queued up.
///
/// A value without a clock: every transition takes the moment, and jitter comes from the caller's generator. A check
/// whose turn comes while it still runs has an overrun and waits for its next turn.
package struct CheckSchedule<ID: Hashable & Sendable>: Sendable {
    /// A turn of a check.
    package enum Turn: Sendable, Hashable {
        /// The check is to be started.
        case run(ID)
        /// The check still runs, so that this turn is left out.
        case overrun(ID)
    }

    private struct Entry {
        let interval: Duration
        let jitter: Double
        // The next turn without its jitter, so that jitter does not add up.
        var beat: MonotonicTime
        // Nil while the check is paused.
        var due: MonotonicTime?
        // When its run began; nil while no run is active.
        var startedAt: MonotonicTime?
        var settlesAt: MonotonicTime?
        // True if a running check was hastened or resumed: what it finds may be out of date.
        var needsRepetition = false
    }

    /// Checks that begin at the same moment are started this far apart.
    private static var spread: Duration { .milliseconds(10) }

    private let jitter: Double
    private let settle: Duration
    private let settlesByStart: Bool
    private var entries: [ID: Entry] = [:]
    // The latest first, so that the next one is taken from the end.
    private var queue: [(due: MonotonicTime, id: ID)] = []
    private var nextStart = MonotonicTime(nanoseconds: 0)

    /// An empty schedule; every turn comes up to `jitter` of an interval after its beat.
    ///
    /// With `settlesByStart` a check that began before its path had settled is in doubt regardless of its duration;
    /// otherwise its end decides, and a change of path moves the turn of a running check.
    package init(jitter: Double = 0.1, settle: Duration = .seconds(3), settlesByStart: Bool = false) {
        self.settlesByStart = settlesByStart
        self.jitter = min(max(jitter, 0), 1)
        self.settle = settle
    }

    /// When the next turn is; nil while no check waits for one.
    package var deadline: MonotonicTime? { self.queue.last?.due }

    /// When the next turn of a check is; nil while it is paused.
    package func due(_ id: ID) -> MonotonicTime? { self.entries[id]?.due }

    /// Adds a check that is paused until it is resumed; `jitter` replaces that of the schedule.
    package mutating func add(_ id: ID, every interval: Duration, jitter: Double? = nil) {
        self.remove(id)
        self.entries[id] = Entry(
            interval: max(interval, .milliseconds(1)), jitter: min(max(jitter ?? self.jitter, 0), 1),
            beat: MonotonicTime(nanoseconds: 0))
    }

    /// Removes a check; the result of a running one is ignored.
    package mutating func remove(_ id: ID) {
        self.move(id, to: nil)
        self.entries[id] = nil
    }

    /// Lets a check wait until it is resumed, because there is no path; a running one continues to its end.
    package mutating func pause(_ id: ID) { self.move(id, to: nil) }

    /// Starts a check that was paused, as soon as those that begin with it leave room.
    package mutating func resume(_ id: ID, at now: MonotonicTime) {
        guard let entry = self.entries[id], entry.due == nil else { return }
        self.nextStart = max(self.nextStart, now)
        // More checks than an interval has room for share its moments evenly.
        let wait = (self.nextStart - now).wholeNanoseconds % entry.interval.wholeNanoseconds
        let start = now + .nanoseconds(wait)
        self.nextStart = self.nextStart + Self.spread
        self.entries[id]?.beat = start
        self.entries[id]?.settlesAt = start + self.settle
        self.entries[id]?.needsRepetition = entry.startedAt != nil
        self.move(id, to: start)
    }

    /// Records that a check's path is back, which may cause the failures until it has settled.
    package mutating func settle(_ id: ID, at now: MonotonicTime) { self.entries[id]?.settlesAt = now + self.settle }

    /// Records that a check's path has changed: halves the rest of its wait, which keeps many checks spread.
    package mutating func pathChanged(_ id: ID, at now: MonotonicTime) {
        guard let due = self.entries[id]?.due else { return }
        self.settle(id, at: now)
        // A running one is repeated soon if necessary.
        if self.settlesByStart, self.entries[id]?.startedAt != nil { return }
        let half = now + max(.zero, due - now) / 2
        self.entries[id]?.beat = half
        self.move(id, to: half)
    }

    /// Brings a check's next turn forward to `moment`; a running check runs again when it ends.
    ///
    /// A check that is paused stays so.
    package mutating func hasten(_ id: ID, to moment: MonotonicTime) {
        guard let entry = self.entries[id], let due = entry.due, moment < due else { return }
        guard entry.startedAt == nil else {
            self.entries[id]?.needsRepetition = true
            return
        }
        self.entries[id]?.beat = moment
        self.move(id, to: moment)
    }

    /// Takes the turns that are due; several missed turns of a check count as one.
    package mutating func tick(
        at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Turn] {
        var turns: [Turn] = []
        while let slot = self.queue.last, slot.due <= now, var entry = self.entries[slot.id] {
            turns.append(entry.startedAt == nil ? .run(slot.id) : .overrun(slot.id))
            if entry.startedAt == nil { entry.startedAt = now }
            let missed = max(0, (now - entry.beat).inSeconds / entry.interval.inSeconds)
            entry.beat = entry.beat + entry.interval * (Int(missed) + 1)
            self.entries[slot.id] = entry
            let delay = entry.interval * Double.random(in: 0...entry.jitter, using: &generator)
            self.move(slot.id, to: entry.beat + delay)
        }
        return turns
    }

    /// Records that a check has ended; true if its result counts.
    ///
    /// A failure that the path may have caused, such as silence, is in doubt: it does not count until the path has
    /// settled, and the check is repeated soon. A check that lacked a descriptor waits a second for one.
    package mutating func finished(
        _ id: ID, isInDoubt: Bool, lackedDescriptor: Bool = false, at now: MonotonicTime
    ) -> Bool {
        guard let entry = self.entries[id] else { return false }
        self.entries[id]?.startedAt = nil
        self.entries[id]?.needsRepetition = false
        defer { if entry.needsRepetition { self.hasten(id, to: now) } }
        guard !lackedDescriptor else {
            self.hasten(id, to: now + .seconds(1))
            return false
        }
        guard isInDoubt, let settlesAt = entry.settlesAt else { return true }
        let moment = self.settlesByStart ? entry.startedAt ?? now : now
        guard moment < settlesAt else { return true }
        let repetition = now + self.settle
        if let due = entry.due, repetition < due {
            self.entries[id]?.beat = repetition
            self.move(id, to: repetition)
        }
        return false
    }

    // MARK: The queue

    private mutating func move(_ id: ID, to moment: MonotonicTime?) {
        if let due = self.entries[id]?.due {
            var position = self.position(of: due)
            while position < self.queue.count, self.queue[position].due == due {
                if self.queue[position].id == id {
                    self.queue.remove(at: position)
                    break
                }
                position += 1
            }
        }
        self.entries[id]?.due = moment
        guard let moment, self.entries[id] != nil else { return }
        self.queue.insert((moment, id), at: self.position(of: moment))
    }

    // The first place whose turn is not later than `moment`.
    private func position(of moment: MonotonicTime) -> Int {
        var (low, high) = (0, self.queue.count)
        while low < high {
            let middle = (low + high) / 2
            if self.queue[middle].due > moment { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

internal import TidegateAttribution
package import TidegateCore

/// The state machine of scheduled probes: when they run, and what their runs say of their targets.
///
/// A value without a clock or a network: every transition takes the moment.
package struct ProbeScheduleMachine: Sendable {
    /// A probe in its current configuration; a changed probe gets a new ID.
    package typealias ID = UInt64

    /// What follows from a transition.
    package enum Effect: Sendable, Hashable {
        case run(ID, ScheduledProbe)
        /// What a run finds is of no interest any more.
        case cancel(ID)
        case publish(ProbeEvent)
    }

    private struct Entry {
        var report: ScheduledProbeReport
        // The last run found no path.
        var wasGated = false
        // The family of the address that it asked last; nil if there was none.
        var family: AddressFamily?
    }

    private var schedule: CheckSchedule<ID>
    private var entries: [ID: Entry] = [:]
    // In the order of the configuration.
    private var order: [ID] = []
    private var lastID: ID = 0

    /// A machine without probes; for `settle` after a path came back, failures that it may have caused do not count.
    package init(settle: Duration = .seconds(3)) { self.schedule = CheckSchedule(settle: settle, settlesByStart: true) }

    /// When the next turn is; nil without probes.
    package var deadline: MonotonicTime? { self.schedule.deadline }

    /// What is known of every probe, in the order of the configuration.
    package func reports(at now: MonotonicTime, _ wall: WallTime) -> [ScheduledProbeReport] {
        self.order.compactMap { id in
            guard var report = self.entries[id]?.report else { return nil }
            report.nextRun = self.schedule.due(id).map { wall + max(.zero, $0 - now) }
            return report
        }
    }

    /// Takes the probes of a configuration: those that it had before go on, others start, with what an earlier process
    /// found of them by ``ScheduledProbe/identity``.
    package mutating func load(
        _ probes: [ScheduledProbe], past: [String: ScheduledProbeReport.Past] = [:], at now: MonotonicTime
    ) -> [Effect] {
        let known = Dictionary(self.order.compactMap { id in self.entries[id].map { ($0.report.probe, id) } }) { $1 }
        let kept = Set(probes.compactMap { known[$0] })
        var effects: [Effect] = []
        for id in self.order where !kept.contains(id) {
            guard let name = self.entries[id]?.report.probe.name else { continue }
            self.schedule.remove(id)
            self.entries[id] = nil
            effects += [.cancel(id), .publish(ProbeEvent(probe: name, .removed))]
        }
        self.order = probes.map { probe in
            if let id = known[probe] { return id }
            self.lastID += 1
            self.entries[self.lastID] = Entry(report: ScheduledProbeReport(probe, past[probe.identity]))
            self.schedule.add(self.lastID, every: probe.every, jitter: probe.jitter)
            self.schedule.resume(self.lastID, at: now)
            effects.append(.publish(ProbeEvent(probe: probe.name, .added)))
            return self.lastID
        }
        return effects
    }

    /// Records that a family's path came back, or leads elsewhere: its probes run soon, and failures may be due to that.
    package mutating func pathChanged(_ family: AddressFamily, at now: MonotonicTime) {
        for id in self.order where self.entries[id]?.family.map({ $0 == family }) ?? true {
            self.schedule.pathChanged(id, at: now)
        }
    }

    /// Takes the turns that have come.
    package mutating func tick(
        at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        self.schedule.tick(at: now, using: &generator).compactMap { turn in
            switch turn {
            case .run(let id): return (self.entries[id]?.report.probe).map { .run(id, $0) }
            case .overrun(let id):
                self.entries[id]?.report.recordOverrun()
                return (self.entries[id]?.report.probe.name).map { .publish(ProbeEvent(probe: $0, .overrun)) }
            }
        }
    }

    /// Records that a run has ended; without a report it found nothing, which is not counted.
    package mutating func finished(
        _ id: ID, _ report: ProbeReport?, at now: MonotonicTime, _ wall: WallTime
    ) -> [Effect] {
        guard let entry = self.entries[id] else { return [] }
        // The missing path came back at some unobserved moment.
        if entry.wasGated, report?.isGated == false { self.schedule.settle(id, at: now) }
        let counts = self.schedule.finished(id, isInDoubt: report?.failure?.isInDoubt ?? false, at: now)
        guard let report else { return [] }
        let result: ProbeEvent.Result =
            report.isInconclusive || !counts ? .inconclusive : report.failure == nil ? .success : .failure
        self.entries[id]?.wasGated = report.isGated
        self.entries[id]?.family = report.family
        let outcome = self.entries[id]?.report.record(report, as: result, at: wall)
        return outcome.map { [.publish(ProbeEvent(probe: entry.report.probe.name, .finished($0)))] } ?? []
    }
}

extension ProbeReport {
    // There was no path or no memory, or what was asked lies beyond a gateway, a provider or a resolver that is down.
    fileprivate var isInconclusive: Bool {
        guard let failure = self.failure else { return false }
        return self.isGated || self.isOutage || failure.party.isWayOut
            || failure.reason == ProbeFailureReason.noMemory.label
    }
}

extension ProbeFailure {
    /// True if the failure may be due to what lies between, or to this host: the target did not answer.
    // A target that answered wrongly has been reached. One that did not take the connection may not have been: after an
    // outage its neighbours do not know its address yet, and say that it does not exist.
    var isInDoubt: Bool { ProbeFailureReason.silences.contains(self.reason) }
}

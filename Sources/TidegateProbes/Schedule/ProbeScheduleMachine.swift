internal import TidegateAttribution
package import TidegateCore

/// The state machine of scheduled probes: decides when they run, and evaluates their runs.
///
/// A value without a clock or a network: every transition receives the time.
package struct ProbeScheduleMachine: Sendable {
    /// A probe in its current configuration; a changed probe gets a new ID.
    package typealias ID = UInt64

    /// The result of a transition.
    package enum Effect: Sendable, Hashable {
        case run(ID, ScheduledProbe)
        /// The result of the run is no longer needed.
        case cancel(ID)
        case publish(ProbeEvent)
    }

    private struct Entry {
        var report: ScheduledProbeReport
        // True if the last run found no path.
        var wasGated = false
        // The family of the last probed address; nil if there was none.
        var family: AddressFamily?
    }

    private var schedule: CheckSchedule<ID>
    private var entries: [ID: Entry] = [:]
    // In the order of the configuration.
    private var order: [ID] = []
    private var lastID: ID = 0

    /// A machine without probes; failures within `settle` after a path came back do not count.
    package init(settle: Duration = .seconds(3)) { self.schedule = CheckSchedule(settle: settle, settlesByStart: true) }

    /// When the next run is due; nil without probes.
    package var deadline: MonotonicTime? { self.schedule.deadline }

    /// The reports of all probes, in the order of the configuration.
    package func reports(at now: MonotonicTime, _ wall: WallTime) -> [ScheduledProbeReport] {
        self.order.compactMap { id in
            guard var report = self.entries[id]?.report else { return nil }
            report.nextRun = self.schedule.due(id).map { wall + max(.zero, $0 - now) }
            return report
        }
    }

    /// Loads the probes of a configuration.
    ///
    /// Existing probes continue. New ones start with the results of an earlier process, found by
    /// ``ScheduledProbe/identity``.
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

    /// Records that a family's path came back or changed: its probes run soon, and the change may explain their
    /// failures.
    package mutating func pathChanged(_ family: AddressFamily, at now: MonotonicTime) {
        for id in self.order where self.entries[id]?.family.map({ $0 == family }) ?? true {
            self.schedule.pathChanged(id, at: now)
        }
    }

    /// Starts the runs that are due.
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

    /// Records that a run has ended; without a report it is not counted.
    package mutating func finished(
        _ id: ID, _ report: ProbeReport?, at now: MonotonicTime, _ wall: WallTime
    ) -> [Effect] {
        guard let entry = self.entries[id] else { return [] }
        // The missing path came back at an unobserved time.
        if entry.wasGated, report?.isGated == false { self.schedule.settle(id, at: now) }
        let counts = self.schedule.finished(
            id, isInDoubt: report?.failure?.isInDoubt ?? false,
            lackedDescriptor: report?.failure?.reason == ProbeFailureReason.noDescriptor.label, at: now)
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
    // There was no path, or the fault lies with this host, a gateway, a provider or a resolver.
    fileprivate var isInconclusive: Bool {
        guard let failure = self.failure else { return false }
        return self.isGated || self.isOutage || failure.party.isWayOut
    }
}

extension ProbeFailure {
    /// True if the network or this host may have caused the failure, because the target did not answer.
    ///
    /// A target with a wrong answer has been reached. A target that did not accept the connection may not have been
    /// reached: after an outage its neighbours do not know its address yet, and report that it does not exist.
    var isInDoubt: Bool { ProbeFailureReason.silences.contains(self.reason) }
}

internal import Synchronization
internal import TidegateCore

/// The metrics of tasks.
struct TaskRecorder: Sendable {
    let heldSeconds = FixedLabelFamily<HoldReason, Counter>(Catalogue.taskHeldSeconds)
    let submissions = FixedLabelFamily<TaskKind, Counter>(Catalogue.taskSubmissions)
    let resumes = SingleFamily<Counter>(Catalogue.taskResumes)
    let suspends = TableFamily<TaskEvent.SuspendReason, Counter>(
        Catalogue.taskSuspends, from: TaskEvent.SuspendReason.allCases)
    let holds = FixedLabelFamily<HoldReason, Counter>(Catalogue.taskHolds)
    private let completions = FixedLabelFamily<Label2<TaskKind, TaskOutcome>, Counter>(Catalogue.taskCompletions)
    private let revalidations = SingleFamily<Counter>(Catalogue.taskRevalidations)
    private let failures = TableFamily<Label2<TaskFailure, FaultParty>, Counter>(
        Catalogue.taskFailures, from: TaskRecorder.likelyFailures)
    private let durations = TableFamily<Label2<TaskKind, TaskOutcome>, Histogram>(Catalogue.taskDuration)
    // Nil if parties are never revised.
    private let unsettled: UnsettledFailures?

    /// A recorder; with `settlesParties`, a silent failure is counted once its party is settled.
    init(_ registry: Registry, settlesParties: Bool) {
        self.unsettled = settlesParties ? UnsettledFailures() : nil
        registry.collect(Catalogue.tasks, by: [TaskState.Name.suspended, .waiting, .running]) {
            $0.session.tasks[$1] ?? 0
        }
        registry.collect(Catalogue.heldTasks, by: HoldReason.allCases) { $0.session.held[$1] ?? 0 }
        registry.add(
            self.heldSeconds, self.submissions, self.resumes, self.suspends, self.holds, self.completions,
            self.revalidations, self.failures, self.durations)
        registry.collect(Catalogue.stalledTasks) { $0.session.stalled }
        registry.collect(Catalogue.oldestTaskStart) { inputs, samples in
            for state in [TaskState.Name.suspended, .waiting, .running] {
                samples.add(state.label, value: inputs.session.oldestStart[state]?.seconds)
            }
        }
    }

    // Prometheus sees no increase in a series that starts at 1, so the first failure would be invisible.
    private static var likelyFailures: [Label2<TaskFailure, FaultParty>] {
        let wire: [TaskFailure] = [.connectFailed, .timedOut, .stalled, .reset, .retriesExhausted, .deadlineExceeded]
        let ours: [TaskFailure] = [.gateTimeout, .invalidRequest, .fileError, .diskFull]
        let answers: [TaskFailure] = [.httpStatus, .tlsFailed, .protocolError, .truncated, .outcomeUnknown]
        return wire.flatMap { failure in
            [.mine, .gateway, .upstream, .path, .theirs, .unknown].map { Label2(failure, $0) }
        }
            + [FaultParty.mine, .resolver, .theirs].map { Label2(.resolveFailed, $0) } + ours.map { Label2($0, .mine) }
            + answers.flatMap { [Label2($0, .mine), Label2($0, .theirs)] }
    }

    func completed(_ result: TaskResult, _ source: Exemplar.Source, at moment: MonotonicTime) {
        let key = Label2(result.kind, result.outcome)
        self.completions[key].add()
        self.durations[key].observe(result.duration, from: source)
        if result.isRevalidated { self.revalidations.series.add() }
        let revised = self.unsettled?.takeRevision(of: result.id)
        guard key.second == .failure else { return }
        let isOpen = result.attribution?.doubt != nil
        let (failure, own) = (result.failure ?? .internal, result.attribution?.party ?? .unknown)
        let party = isOpen ? revised ?? own : own
        if let unsettled = self.unsettled, isOpen, revised == nil,
            unsettled.add(
                .init(task: result.id, failure: failure, party: party, source: source, moment: moment))
        {
            return
        }
        self.failures[Label2(failure, party)].add(from: source)
    }

    /// Counts a task's failure for the party that proved responsible, unless it is already counted.
    func revised(_ task: TaskID, to party: FaultParty) {
        guard let entry = self.unsettled?.revise(task, to: party) else { return }
        self.failures[Label2(entry.failure, party)].add(from: entry.source)
    }

    /// Counts the failures whose party is settled by now, or all of them if the time is nil.
    func settle(at now: MonotonicTime?) {
        for entry in self.unsettled?.take(settledAt: now) ?? [] {
            self.failures[Label2(entry.failure, entry.party)].add(from: entry.source)
        }
    }
}

/// Failed tasks whose party may still be revised; they are counted once it is settled.
final class UnsettledFailures: Sendable {
    struct Entry: Sendable {
        var task: TaskID
        var failure: TaskFailure
        var party: FaultParty
        var source: Exemplar.Source
        var moment: MonotonicTime
    }

    /// How long a party may still be revised.
    static let lifetime = Duration.seconds(30)
    // Further failures are counted immediately.
    private static let capacity = 4_096

    // In the order of the failures.
    private let entries = Mutex<[Entry]>([])
    /// The revised parties of tasks that are not over, by the last attempt that failed.
    private let revisions = Mutex<[TaskID: FaultParty]>([:])

    /// Holds an entry back; false if there are too many.
    func add(_ entry: Entry) -> Bool {
        self.entries.withLock { entries in
            guard entries.count < UnsettledFailures.capacity else { return false }
            entries.append(entry)
            return true
        }
    }

    /// Removes and returns the entry of a task; without one, the party is kept until the task is over.
    func revise(_ task: TaskID, to party: FaultParty) -> Entry? {
        let entry = self.entries.withLock { entries in
            entries.firstIndex { $0.task == task }.map { entries.remove(at: $0) }
        }
        guard entry == nil else { return entry }
        self.revisions.withLock { revisions in
            if revisions.count >= UnsettledFailures.capacity { revisions = [:] }
            revisions[task] = party
        }
        return nil
    }

    /// Removes and returns the revised party of a task that is over; nil if no attempt was revised before.
    func takeRevision(of task: TaskID) -> FaultParty? { self.revisions.withLock { $0.removeValue(forKey: task) } }

    /// Removes and returns the settled entries, or all of them if the time is nil.
    func take(settledAt now: MonotonicTime?) -> [Entry] {
        self.entries.withLock { entries in
            guard let now else { return exchange(&entries, with: []) }
            let old = entries.prefix { now - $0.moment > UnsettledFailures.lifetime }
            entries.removeFirst(old.count)
            return Array(old)
        }
    }
}

/// Records waits and admissions at the gate.
struct GateRecorder: Sendable {
    // All series exist from the start, so that the first wait counts as an increase.
    private let waits = TableFamily<TextLabels, Histogram>(
        Catalogue.gateWait, from: ["admitted", "timeout", "cancelled"].map { TextLabels($0) })
    private let admissions = TableFamily<TaskEvent.GateResult, Counter>(
        Catalogue.gateAdmissions, from: [.immediate, .delayed, .timeout])

    init(_ registry: Registry) {
        registry.collect(Catalogue.gateState) { inputs, samples in
            let level = inputs.status.global.level
            let isOpen = level == .unknown || level >= .routed
            samples.add("open", value: isOpen ? 1 : 0)
            samples.add("shut", value: isOpen ? 0 : 1)
        }
        registry.collect(Catalogue.gateWaitingTasks) { $0.session.gateWaiting }
        registry.add(self.waits, self.admissions)
    }

    func record(_ result: TaskEvent.GateResult, waited: Duration) {
        if result != .cancelled { self.admissions[result].add() }
        guard result != .immediate else { return }
        self.waits[TextLabels(result == .delayed ? "admitted" : result.label)].observe(waited)
    }
}

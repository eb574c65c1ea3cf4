internal import TidegateCore

/// Records the lives of tasks.
struct TaskRecorder: Sendable {
    private let heldSeconds: FixedLabelFamily<HoldReason, Counter>
    private let submissions: FixedLabelFamily<TaskKind, Counter>
    private let resumes: Counter
    private let suspends: TableFamily<TaskEvent.SuspendReason, Counter>
    private let holds: FixedLabelFamily<HoldReason, Counter>
    private let completions: FixedLabelFamily<Label2<TaskKind, TaskOutcome>, Counter>
    private let failures: TableFamily<Label2<TaskFailure, FaultParty>, Counter>
    private let durations: TableFamily<Label2<TaskKind, TaskOutcome>, Histogram>
    // Nil if nobody revises parties.
    private let unsettled: UnsettledFailures?

    /// A recorder; with `settlesParties` a failure in silence is counted once its party is settled.
    init(_ registry: Registry, settlesParties: Bool) {
        self.unsettled = settlesParties ? UnsettledFailures() : nil
        registry.collect(Catalogue.tasks, by: [TaskState.Name.suspended, .waiting, .running]) {
            $0.session.tasks[$1] ?? 0
        }
        registry.collect(Catalogue.heldTasks, by: HoldReason.allCases) { $0.session.held[$1] ?? 0 }
        self.heldSeconds = registry.adding(FixedLabelFamily(Catalogue.taskHeldSeconds))
        self.submissions = registry.adding(FixedLabelFamily(Catalogue.taskSubmissions))
        self.resumes = registry.adding(Catalogue.taskResumes)
        self.suspends = registry.adding(
            TableFamily(Catalogue.taskSuspends, from: TaskEvent.SuspendReason.allCases))
        self.holds = registry.adding(FixedLabelFamily(Catalogue.taskHolds))
        self.completions = registry.adding(FixedLabelFamily(Catalogue.taskCompletions))
        self.failures = registry.adding(TableFamily(Catalogue.taskFailures, from: TaskRecorder.likelyFailures))
        self.durations = registry.adding(TableFamily(Catalogue.taskDuration))
        registry.collect(Catalogue.stalledTasks) { $0.session.stalled }
        registry.collect(Catalogue.oldestTaskStart) { inputs, samples in
            for state in [TaskState.Name.suspended, .waiting, .running] {
                samples.add(state.label, value: inputs.session.oldestStart[state]?.seconds)
            }
        }
    }

    // For Prometheus a series that starts at 1 has not increased: the first failure would be invisible.
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

    func created(_ kind: TaskKind) { self.submissions[kind].add() }

    func resumed() { self.resumes.add() }

    func suspended(_ reason: TaskEvent.SuspendReason) { self.suspends[reason].add() }

    func held(_ reason: HoldReason) { self.holds[reason].add() }

    func released(_ reason: HoldReason, after duration: Duration) { self.heldSeconds[reason].add(duration) }

    func completed(_ result: TaskResult, _ source: Exemplar.Source, at moment: MonotonicTime) {
        let key = Label2(result.kind, result.outcome)
        self.completions[key].add()
        self.durations[key].observe(result.duration, from: source)
        guard key.second == .failure else { return }
        let (failure, party) = (result.failure ?? .internal, result.attribution?.party ?? .unknown)
        if let unsettled = self.unsettled, result.attribution?.silence != nil,
            unsettled.add(
                .init(task: result.id, failure: failure, party: party, source: source, moment: moment))
        {
            return
        }
        self.failures[Label2(failure, party)].add(from: source)
    }

    /// Counts a task's failure for the party that it turned out to be, unless it was counted before.
    func revised(_ task: TaskID, to party: FaultParty) {
        guard let entry = self.unsettled?.take(task) else { return }
        self.failures[Label2(entry.failure, party)].add(from: entry.source)
    }

    /// Counts the failures whose party is settled by now; at nil all.
    func settle(at now: MonotonicTime?) {
        for entry in self.unsettled?.take(settledAt: now) ?? [] {
            self.failures[Label2(entry.failure, entry.party)].add(from: entry.source)
        }
    }
}

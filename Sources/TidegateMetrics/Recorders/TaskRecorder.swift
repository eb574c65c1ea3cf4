internal import TidegateCore

/// What becomes of tasks.
struct TaskRecorder: Sendable {
    private let heldSeconds: DenseFamily<HoldReason, Counter>
    private let submissions: DenseFamily<TaskKind, Counter>
    private let resumes: Counter
    private let suspends: TableFamily<One<TaskEvent.SuspendReason>, Counter>
    private let holds: DenseFamily<HoldReason, Counter>
    private let completions: DenseFamily<CompletionKey, Counter>
    private let failures: TableFamily<Two<TaskFailure, Party>, Counter>
    private let durations: TableFamily<CompletionKey, Histogram>

    init(_ registry: Registry) {
        registry.collect(Catalogue.tasks) { inputs, samples in
            for state in [TaskState.Name.suspended, .waiting, .running] {
                samples.add(state.label, value: inputs.session.tasks[state] ?? 0)
            }
        }
        registry.collect(Catalogue.heldTasks) { inputs, samples in
            for reason in HoldReason.allCases { samples.add(reason.label, value: inputs.session.held[reason] ?? 0) }
        }
        self.heldSeconds = registry.adding(DenseFamily(Catalogue.taskHeldSeconds))
        self.submissions = registry.adding(DenseFamily(Catalogue.taskSubmissions))
        self.resumes = registry.counter(Catalogue.taskResumes)
        self.suspends = registry.adding(
            TableFamily(Catalogue.taskSuspends, from: TaskEvent.SuspendReason.allCases.map(One.init)))
        self.holds = registry.adding(DenseFamily(Catalogue.taskHolds))
        self.completions = registry.adding(DenseFamily(Catalogue.taskCompletions))
        self.failures = registry.adding(TableFamily(Catalogue.taskFailures, from: TaskRecorder.likelyFailures))
        self.durations = registry.adding(TableFamily(Catalogue.taskDuration))
        registry.collect(Catalogue.stalledTasks) { inputs, samples in samples.add(value: inputs.session.stalled) }
        registry.collect(Catalogue.oldestTaskStart) { inputs, samples in
            for state in [TaskState.Name.suspended, .waiting, .running] {
                if let start = inputs.session.oldestStart[state] { samples.add(state.label, value: start.seconds) }
            }
        }
    }

    // A series that is born at 1 grows by nothing in Prometheus's eyes: the first failure would be seen by nobody.
    private static var likelyFailures: [Two<TaskFailure, Party>] {
        let wire: [TaskFailure] = [.connectFailed, .timedOut, .stalled, .reset, .retriesExhausted, .deadlineExceeded]
        let ours: [TaskFailure] = [.gateTimeout, .invalidRequest, .fileError, .diskFull]
        let answers: [TaskFailure] = [.httpStatus, .tlsFailed, .protocolError, .truncated, .outcomeUnknown]
        return wire.flatMap { failure in
            [.mine, .gateway, .upstream, .path, .theirs, .unknown].map { Two(failure, $0) }
        }
            + [Party.mine, .resolver, .theirs].map { Two(.resolveFailed, $0) } + ours.map { Two($0, .mine) }
            + answers.flatMap { [Two($0, .mine), Two($0, .theirs)] }
    }

    func created(_ kind: TaskKind) { self.submissions[kind].add() }

    func resumed() { self.resumes.add() }

    func suspended(_ reason: TaskEvent.SuspendReason) { self.suspends[One(reason)].add() }

    func held(_ reason: HoldReason) { self.holds[reason].add() }

    func released(_ reason: HoldReason, after duration: Duration) { self.heldSeconds[reason].add(duration) }

    func completed(_ result: TaskResult, _ source: Exemplar.Source) {
        let key = CompletionKey(kind: result.kind, outcome: result.outcome)
        self.completions[key].add()
        self.durations[key].observe(result.duration, from: source)
        guard key.outcome == .failure else { return }
        self.failures[Two(result.failure ?? .internal, result.attribution?.party ?? .unknown)].add(from: source)
    }
}

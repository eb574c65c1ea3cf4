internal import TidegateCore

/// Records waits and admissions at the gate.
struct GateRecorder: Sendable {
    private let waits: TableFamily<Label1<GateWaitResult>, Histogram>
    private let admissions: FixedLabelFamily<AdmissionResult, Counter>

    init(_ registry: Registry) {
        registry.collect(Catalogue.gateState, by: GateState.allCases) { inputs, state in
            let level = inputs.status.global.level
            return (level == .unknown || level >= .routed) == (state == .open) ? 1 : 0
        }
        registry.collect(Catalogue.gateWaitingTasks) { $0.session.gateWaiting }
        // All from the start: the first wait is an increase, and not the beginning of a series.
        self.waits = registry.adding(TableFamily(Catalogue.gateWait, from: GateWaitResult.allCases.map(Label1.init)))
        self.admissions = registry.adding(FixedLabelFamily(Catalogue.gateAdmissions))
    }

    func record(_ result: TaskEvent.GateResult, waited: Duration) {
        switch result {
        case .immediate:
            self.admissions[.immediate].add()
        case .delayed:
            self.admissions[.delayed].add()
            self.waits[Label1(.admitted)].observe(waited)
        case .timeout:
            self.admissions[.timeout].add()
            self.waits[Label1(.timeout)].observe(waited)
        case .cancelled:
            self.waits[Label1(.cancelled)].observe(waited)
        }
    }
}

/// Records the events of the bus by topic, and what its subscribers hold and lose.
struct BusRecorder: Sendable {
    private let published: FixedLabelFamily<Event.Topic, Counter>

    init(_ registry: Registry) {
        self.published = registry.adding(FixedLabelFamily(Catalogue.busPublished))
        let kinds = SubscriberKind.allCases
        registry.collect(Catalogue.busDropped, by: kinds) { $0.subscribers[$1]?.dropped }
        registry.collect(Catalogue.busQueueLength, by: kinds) { $0.subscribers[$1]?.queued }
        registry.collect(Catalogue.busQueueCapacity, by: kinds) { $0.subscribers[$1]?.capacity }
    }

    func record(_ topic: Event.Topic) { self.published[topic].add() }
}

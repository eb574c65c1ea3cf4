internal import TidegateCore

/// Records waits and admissions at the gate.
struct GateRecorder: Sendable {
    private let waits: TableFamily<GateWaitResult, Histogram>
    private let admissions: TableFamily<TaskEvent.GateResult, Counter>

    init(_ registry: Registry) {
        registry.collect(Catalogue.gateState, by: GateState.allCases) { inputs, state in
            let level = inputs.status.global.level
            return (level == .unknown || level >= .routed) == (state == .open) ? 1 : 0
        }
        registry.collect(Catalogue.gateWaitingTasks) { $0.session.gateWaiting }
        // All from the start: the first wait is an increase, and not the beginning of a series.
        self.waits = registry.adding(TableFamily(Catalogue.gateWait, from: GateWaitResult.allCases))
        self.admissions = registry.adding(
            TableFamily(Catalogue.gateAdmissions, from: [.immediate, .delayed, .timeout]))
    }

    func record(_ result: TaskEvent.GateResult, waited: Duration) {
        if result != .cancelled { self.admissions[result].add() }
        switch result {
        case .immediate: break
        case .delayed: self.waits[.admitted].observe(waited)
        case .timeout: self.waits[.timeout].observe(waited)
        case .cancelled: self.waits[.cancelled].observe(waited)
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

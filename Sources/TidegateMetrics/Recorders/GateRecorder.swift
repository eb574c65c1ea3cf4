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

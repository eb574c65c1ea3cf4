internal import TidegateCore

/// Records waits and admissions at the gate.
struct GateRecorder: Sendable {
    private let waits: TableFamily<Label1<GateWaitResult>, Histogram>
    private let admissions: FixedLabelFamily<AdmissionResult, Counter>

    init(_ registry: Registry) {
        registry.collect(Catalogue.gateState) { inputs, samples in
            let level = inputs.status.global.level
            let isOpen = level == .unknown || level >= .routed
            samples.add(GateState.open.label, value: isOpen ? 1 : 0)
            samples.add(GateState.shut.label, value: isOpen ? 0 : 1)
        }
        registry.collect(Catalogue.gateWaitingTasks) { $1.add(value: $0.session.gateWaiting) }
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

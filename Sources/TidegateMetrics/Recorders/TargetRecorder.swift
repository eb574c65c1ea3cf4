internal import TidegateCore

/// Records checks of configured targets, under their names.
struct TargetRecorder: Sendable {
    private let names: [Target: String]
    private let durations: TableFamily<TextLabels, Histogram>
    private let failures: TableFamily<TextLabels, Counter>

    init(_ registry: Registry, names: [Target: String]) {
        self.names = names
        self.durations = registry.adding(TableFamily(Catalogue.targetCheckDuration))
        self.failures = registry.adding(TableFamily(Catalogue.targetCheckFailures))
    }

    func record(_ check: TargetCheckEvent) {
        // Only named targets have series, so that their number is bounded by the configuration.
        guard let name = self.names[check.target] else { return }
        let stages = [
            ("connect", check.phases.connect), ("tls", check.phases.tls), ("response", check.phases.processing),
        ]
        for (stage, duration) in stages {
            if let duration { self.durations[TextLabels(name, stage)].observe(duration) }
        }
        // All from the first check: for Prometheus a series that starts at 1 has not increased.
        for party in FaultParty.allCases {
            self.failures[TextLabels(name, party.label)].add(check.failure?.party == party ? 1 : 0)
        }
    }
}

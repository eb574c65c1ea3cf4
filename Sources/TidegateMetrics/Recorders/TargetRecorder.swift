internal import TidegateCore

/// Records checks of configured targets, under their names.
struct TargetRecorder: Sendable {
    private struct StageKey: LabelKey {
        let target: String
        let stage: String

        var values: [String] { [self.target, self.stage] }
    }

    private struct PartyKey: LabelKey {
        let target: String
        let party: FaultParty

        var values: [String] { [self.target, self.party.label] }
    }

    private let names: [Target: String]
    private let durations: TableFamily<StageKey, Histogram>
    private let failures: TableFamily<PartyKey, Counter>

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
            if let duration { self.durations[StageKey(target: name, stage: stage)].observe(duration) }
        }
        // All from the first check: for Prometheus a series that starts at 1 has not increased.
        for party in FaultParty.allCases {
            self.failures[PartyKey(target: name, party: party)].add(check.failure?.party == party ? 1 : 0)
        }
    }
}

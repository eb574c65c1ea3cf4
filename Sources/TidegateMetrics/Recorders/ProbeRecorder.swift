internal import TidegateCore

/// Records the results of scheduled probes by their configured names, which bound the series.
///
/// The families are empty until probes are added.
struct ProbeRecorder: Sendable {
    private let runs = TableFamily<TextLabels, Counter>(Catalogue.probeRuns)
    private let failures = TableFamily<TextLabels, Counter>(Catalogue.probeFailures)
    private let overruns = TableFamily<TextLabels, Counter>(Catalogue.probeOverruns)
    private let durations = TableFamily<TextLabels, Histogram>(Catalogue.probeDuration)
    private let success = TableFamily<TextLabels, Gauge>(Catalogue.probeSuccess)
    private let failureInfo = TableFamily<TextLabels, Gauge>(Catalogue.probeFailureInfo)
    private let uptime = TableFamily<TextLabels, Gauge>(Catalogue.probeUptime)
    private let certificateExpiry = TableFamily<TextLabels, Gauge>(Catalogue.probeCertificateExpiry)

    init(_ registry: Registry) {
        registry.add(
            self.runs, self.failures, self.overruns, self.durations, self.success, self.failureInfo, self.uptime,
            self.certificateExpiry)
    }

    func record(_ event: ProbeEvent) {
        switch event.kind {
        case .added: self.add(event.probe)
        case .finished(let outcome): self.record(outcome, of: event.probe)
        case .overrun: self.overruns[TextLabels(event.probe)].add()
        case .removed: self.remove(event.probe)
        }
    }

    // All series exist from the start: Prometheus sees no increase in a series that starts at 1.
    private func add(_ probe: String) {
        for result in ProbeEvent.Result.allCases { self.runs[TextLabels(probe, result.label)].add(0) }
        for party in FaultParty.allCases { self.failures[TextLabels(probe, party.label)].add(0) }
        self.overruns[TextLabels(probe)].add(0)
        _ = self.durations[TextLabels(probe)]
    }

    private func record(_ outcome: ProbeEvent.Outcome, of probe: String) {
        let name = TextLabels(probe)
        self.runs[TextLabels(probe, outcome.result.label)].add()
        if let expiry = outcome.certificateExpiry { self.certificateExpiry[name].set(expiry.seconds) }
        if let uptime = outcome.uptime { self.uptime[name].set(uptime) }
        // An inconclusive run keeps the last known state of the target.
        guard outcome.result != .inconclusive else { return }
        self.durations[name].observe(outcome.duration)
        self.success[name].set(outcome.result == .success ? 1.0 : 0)
        let failure = outcome.failure
        let info = failure.map { TextLabels(probe, $0.reason, $0.party.label) }
        self.failureInfo.removeAll { $0.values.first == probe && $0 != info }
        if let failure, let info {
            self.failures[TextLabels(probe, failure.party.label)].add()
            self.failureInfo[info].set(1.0)
        }
    }

    private func remove(_ probe: String) {
        let counters = [self.runs, self.failures, self.overruns]
        let gauges = [self.success, self.failureInfo, self.uptime, self.certificateExpiry]
        for family in counters { family.removeAll { $0.values.first == probe } }
        for family in gauges { family.removeAll { $0.values.first == probe } }
        self.durations.removeAll { $0.values.first == probe }
    }
}

/// Records checks of configured targets by name.
struct TargetRecorder: Sendable {
    private let names: [Target: String]
    private let durations = TableFamily<TextLabels, Histogram>(Catalogue.targetCheckDuration)
    private let failures = TableFamily<TextLabels, Counter>(Catalogue.targetCheckFailures)

    init(_ registry: Registry, names: [Target: String]) {
        self.names = names
        registry.add(self.durations, self.failures)
    }

    func record(_ check: TargetCheckEvent) {
        // Only named targets have series, so that the configuration bounds their number.
        guard let name = self.names[check.target] else { return }
        let stages = [
            ("connect", check.phases.connect), ("tls", check.phases.tls), ("response", check.phases.processing),
        ]
        for (stage, duration) in stages {
            if let duration { self.durations[TextLabels(name, stage)].observe(duration) }
        }
        // All series exist from the first check: Prometheus sees no increase in a series that starts at 1.
        for party in FaultParty.allCases {
            self.failures[TextLabels(name, party.label)].add(check.failure?.party == party ? 1 : 0)
        }
    }
}

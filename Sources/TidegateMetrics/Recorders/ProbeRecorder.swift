internal import TidegateCore

/// Records what scheduled probes find, under their names in the configuration, which bounds the series.
struct ProbeRecorder: Sendable {
    private let runs: TableFamily<TextLabels, Counter>
    private let failures: TableFamily<TextLabels, Counter>
    private let overruns: TableFamily<TextLabels, Counter>
    private let durations: TableFamily<TextLabels, Histogram>
    private let success: TableFamily<TextLabels, Gauge>
    private let failureInfo: TableFamily<TextLabels, Gauge>
    private let uptime: TableFamily<TextLabels, Gauge>
    private let certificateExpiry: TableFamily<TextLabels, Gauge>

    /// A recorder whose families are empty until probes are added.
    init(_ registry: Registry) {
        self.runs = registry.adding(TableFamily(Catalogue.probeRuns))
        self.failures = registry.adding(TableFamily(Catalogue.probeFailures))
        self.overruns = registry.adding(TableFamily(Catalogue.probeOverruns))
        self.durations = registry.adding(TableFamily(Catalogue.probeDuration))
        self.success = registry.adding(TableFamily(Catalogue.probeSuccess))
        self.failureInfo = registry.adding(TableFamily(Catalogue.probeFailureInfo))
        self.uptime = registry.adding(TableFamily(Catalogue.probeUptime))
        self.certificateExpiry = registry.adding(TableFamily(Catalogue.probeCertificateExpiry))
    }

    func record(_ event: ProbeEvent) {
        switch event.kind {
        case .added: self.add(event.probe)
        case .finished(let outcome): self.record(outcome, of: event.probe)
        case .overrun: self.overruns[TextLabels(event.probe)].add()
        case .removed: self.remove(event.probe)
        }
    }

    // All from the start: for Prometheus a series that starts at 1 has not increased.
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
        // What was known of the target stays until something else is.
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

internal import TidegateCore

/// Records what scheduled probes find, under their names in the configuration, which bounds the series.
struct ProbeRecorder: Sendable {
    private struct ResultKey: LabelKey {
        let probe: String
        let result: ProbeEvent.Result

        var values: [String] { [self.probe, self.result.label] }
    }

    private struct PartyKey: LabelKey {
        let probe: String
        let party: FaultParty

        var values: [String] { [self.probe, self.party.label] }
    }

    private struct FailureKey: LabelKey {
        let probe: String
        let reason: String
        let party: FaultParty

        var values: [String] { [self.probe, self.reason, self.party.label] }
    }

    private let runs: TableFamily<ResultKey, Counter>
    private let failures: TableFamily<PartyKey, Counter>
    private let overruns: TableFamily<StringLabel, Counter>
    private let durations: TableFamily<StringLabel, Histogram>
    private let success: TableFamily<StringLabel, Gauge>
    private let failureInfo: TableFamily<FailureKey, Gauge>
    private let uptime: TableFamily<StringLabel, Gauge>
    private let certificateExpiry: TableFamily<StringLabel, Gauge>

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
        case .overrun: self.overruns[StringLabel(event.probe)].add()
        case .removed: self.remove(event.probe)
        }
    }

    // All from the start: for Prometheus a series that starts at 1 has not increased.
    private func add(_ probe: String) {
        for result in ProbeEvent.Result.allCases { self.runs[ResultKey(probe: probe, result: result)].add(0) }
        for party in FaultParty.allCases { self.failures[PartyKey(probe: probe, party: party)].add(0) }
        self.overruns[StringLabel(probe)].add(0)
        _ = self.durations[StringLabel(probe)]
    }

    private func record(_ outcome: ProbeEvent.Outcome, of probe: String) {
        let name = StringLabel(probe)
        self.runs[ResultKey(probe: probe, result: outcome.result)].add()
        if let expiry = outcome.certificateExpiry { self.certificateExpiry[name].set(expiry.seconds) }
        if let uptime = outcome.uptime { self.uptime[name].set(uptime) }
        // What was known of the target stays until something else is.
        guard outcome.result != .inconclusive else { return }
        self.durations[name].observe(outcome.duration)
        self.success[name].set(outcome.result == .success ? 1 : 0)
        let failure = outcome.failure.map { FailureKey(probe: probe, reason: $0.reason, party: $0.party) }
        self.failureInfo.removeAll { $0.probe == probe && $0 != failure }
        if let failure {
            self.failures[PartyKey(probe: probe, party: failure.party)].add()
            self.failureInfo[failure].set(1)
        }
    }

    private func remove(_ probe: String) {
        let name = StringLabel(probe)
        self.runs.removeAll { $0.probe == probe }
        self.failures.removeAll { $0.probe == probe }
        self.failureInfo.removeAll { $0.probe == probe }
        for family in [self.success, self.uptime, self.certificateExpiry] { family.removeAll { $0 == name } }
        self.overruns.removeAll { $0 == name }
        self.durations.removeAll { $0 == name }
    }
}

internal import TidegateCore

/// The monitor's state at the time of a scrape.
enum ReachabilityCollector {
    static func registerLevels(in registry: Registry) {
        self.registerQuality(in: registry)
        registry.collect(Catalogue.level, by: ReachabilityLevel.allCases) { $0.status.global.level == $1 ? 1 : 0 }
        registry.collect(Catalogue.familyLevel) { inputs, samples in
            for entry in inputs.status.families {
                for level in ReachabilityLevel.allCases {
                    samples.add(entry.family.label, level.label, value: entry.verdict.level == level ? 1 : 0)
                }
            }
        }
    }

    static func register(in registry: Registry) {
        registry.collect(Catalogue.reasonInfo) { inputs, samples in
            for entry in inputs.status.families {
                if let reason = entry.verdict.reason { samples.add(entry.family.label, reason.label, value: 1) }
            }
        }
        self.collect(Catalogue.defaultPath, in: registry, of: \.status.families) {
            ($0.family.label, $0.verdict.level >= .routed ? 1 : 0)
        }
        registry.collect(Catalogue.outage, by: FaultParty.allCases) { inputs, party in
            inputs.diagnosis.map { $0.isBroken && $0.explanation.party == party ? 1 : 0 }
        }
        registry.collect(Catalogue.outageStart) { inputs, samples in
            guard let diagnosis = inputs.diagnosis, diagnosis.isBroken || diagnosis.state == .checking else { return }
            if let since = diagnosis.since { samples.add(value: since.seconds) }
        }
        registry.collect(Catalogue.rungStatus) { inputs, samples in
            for ladder in inputs.diagnosis?.explanation.ladders ?? [] {
                for report in ladder.rungs {
                    for status in RungReport.Status.allCases {
                        samples.add(
                            ladder.family.label, report.rung.label, status.label, value: report.status == status ? 1 : 0
                        )
                    }
                }
            }
        }
        self.registerLinks(in: registry)
        self.collect(Catalogue.interfaceCarrier, in: registry, of: \.countedLinks) { ($0.name, $0.hasCarrier ? 1 : 0) }
        registry.collect(Catalogue.interfaceInfo) { inputs, samples in
            for link in inputs.countedLinks { samples.add(link.name, link.kind.label, value: 1) }
        }
        self.collect(Catalogue.interfaceCarrierLosses, in: registry, of: \.countedLinks) {
            ($0.name, $0.carrierLosses.map { Double($0) })
        }
        self.collect(Catalogue.targetRouted, in: registry, of: \.namedTargets) {
            ($0.name, $0.level >= .routed ? 1 : 0)
        }
        self.collect(Catalogue.targetReachable, in: registry, of: \.namedChecks) {
            ($0.name, $0.report.isReached.map { $0 ? 1 : 0 })
        }
        self.collect(Catalogue.targetCertificateExpiry, in: registry, of: \.namedChecks) {
            ($0.name, $0.report.certificateExpiry?.seconds)
        }
        registry.collect(Catalogue.targetLevel) { inputs, samples in
            for (name, level) in inputs.namedTargets {
                for each in ReachabilityLevel.allCases { samples.add(name, each.label, value: level == each ? 1 : 0) }
            }
        }
    }

    private static func registerLinks(in registry: Registry) {
        registry.collect(Catalogue.uplinkUp) { inputs, samples in
            for uplink in inputs.status.uplinks where uplink.isBroken || uplink.state == .works {
                samples.add(uplink.interface, uplink.role.label, value: uplink.isBroken ? 0 : 1)
            }
        }
        self.collect(Catalogue.interfaceUp, in: registry, of: \.countedLinks) { ($0.name, $0.isUsable ? 1 : 0) }
    }

    private static func registerQuality(in registry: Registry) {
        self.collect(Catalogue.segmentNormal, in: registry, of: \.qualityHosts) {
            ($0.segment.rawValue, $0.normal?.inSeconds)
        }
        self.collect(Catalogue.segmentLoss, in: registry, of: \.qualityHosts) { ($0.segment.rawValue, $0.lossRatio) }
        let own: [(MetricDefinition, @Sendable (HostEvidence) -> Double?)] = [
            (Catalogue.interfaceErrors, { $0.errors.map { Double($0) } }),
            (Catalogue.interfaceQueue, { $0.backlogs.last.map { Double($0) } }),
            (Catalogue.interfaceQueueDrops, { $0.drops.map { Double($0) } }),
            (Catalogue.wifiSignal, { $0.signal.map { Double($0) } }),
            (Catalogue.wifiRetries, { $0.repeatedFrames.map { Double($0) } }),
        ]
        for (definition, value) in own {
            registry.collect(definition) { inputs, samples in
                guard let quality = inputs.status.quality, let device = quality.interface else { return }
                samples.add(device, value: value(quality.own))
            }
        }
        registry.collect(Catalogue.segmentDegraded) { inputs, samples in
            guard let trouble = inputs.status.quality?.network else { return }
            samples.add(trouble.cause.segment.rawValue, trouble.party.label, value: 1)
        }
        registry.collect(Catalogue.targetDegraded) { inputs, samples in
            for (name, party) in inputs.slowTargets { samples.add(name, party.label, value: 1) }
        }
    }

    // One series for each element with a value, under one label.
    private static func collect<Element: SendableMetatype>(
        _ definition: MetricDefinition, in registry: Registry,
        of elements: any KeyPath<ScrapeInputs, [Element]> & Sendable,
        _ sample: @escaping @Sendable (Element) -> (label: String, value: Double?)
    ) {
        registry.collect(definition) { inputs, samples in
            for (label, value) in inputs[keyPath: elements].map(sample) { samples.add(label, value: value) }
        }
    }
}

extension ScrapeInputs {
    fileprivate var qualityHosts: [QualityStatus.Host] { self.status.quality?.hosts ?? [] }

    fileprivate var slowTargets: [(name: String, party: FaultParty)] {
        (self.status.quality?.targets ?? [:]).compactMap { target, trouble in
            self.targetNames[target].map { ($0, trouble.party) }
        }.sorted { $0.name < $1.name }
    }

    fileprivate var countedLinks: [Link] { self.status.links.filter { !$0.isExcluded } }

    fileprivate var namedChecks: [(name: String, report: TargetCheckReport)] {
        self.status.targets.compactMap { entry in
            guard let name = self.targetNames[entry.target], let report = self.status.checks[entry.target] else {
                return nil
            }
            return (name, report)
        }
    }

    fileprivate var namedTargets: [(name: String, level: ReachabilityLevel)] {
        self.status.targets.compactMap { entry in
            self.targetNames[entry.target].map { ($0, entry.verdict.level) }
        }
    }
}

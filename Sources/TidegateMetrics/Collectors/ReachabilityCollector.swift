internal import TidegateCore

/// What the monitor knows at the moment of a scrape.
enum ReachabilityCollector {
    static func registerLevels(in registry: Registry) {
        registry.collect(Catalogue.level, by: ReachabilityLevel.allCases) { $0.status.global.level == $1 ? 1 : 0 }
        registry.collect(Catalogue.familyLevel) { inputs, samples in
            for entry in inputs.status.families {
                for level in ReachabilityLevel.allCases {
                    samples.add(entry.family.label, level.label, value: entry.verdict.level == level ? 1 : 0)
                }
            }
        }
    }

    static func registerPaths(in registry: Registry) {
        registry.collect(Catalogue.reasonInfo) { inputs, samples in
            for entry in inputs.status.families {
                if let reason = entry.verdict.reason { samples.add(entry.family.label, reason.label, value: 1) }
            }
        }
        registry.collect(Catalogue.defaultPath) { inputs, samples in
            for entry in inputs.status.families {
                samples.add(entry.family.label, value: entry.verdict.level >= .routed ? 1 : 0)
            }
        }
    }

    static func registerRungs(in registry: Registry) {
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
    }

    static func registerLinks(in registry: Registry) {
        registry.collect(Catalogue.interfaceUp) { inputs, samples in
            for link in inputs.status.countedLinks { samples.add(link.name, value: link.isUsable ? 1 : 0) }
        }
        registry.collect(Catalogue.interfaceCarrier) { inputs, samples in
            for link in inputs.status.countedLinks { samples.add(link.name, value: link.hasCarrier ? 1 : 0) }
        }
        registry.collect(Catalogue.interfaceInfo) { inputs, samples in
            for link in inputs.status.countedLinks { samples.add(link.name, link.kind.label, value: 1) }
        }
        registry.collect(Catalogue.interfaceCarrierLosses) { inputs, samples in
            for link in inputs.status.countedLinks { samples.add(link.name, value: link.carrierLosses) }
        }
    }

    static func registerTargets(in registry: Registry) {
        registry.collect(Catalogue.targetRouted) { inputs, samples in
            for (name, level) in inputs.namedTargets { samples.add(name, value: level >= .routed ? 1 : 0) }
        }
        registry.collect(Catalogue.targetReachable) { inputs, samples in
            for (name, report) in inputs.namedChecks { samples.add(name, value: report.isReached.map { $0 ? 1 : 0 }) }
        }
        registry.collect(Catalogue.targetCertificateExpiry) { inputs, samples in
            for (name, report) in inputs.namedChecks {
                samples.add(name, value: report.certificateExpiry?.seconds)
            }
        }
        registry.collect(Catalogue.targetLevel) { inputs, samples in
            for (name, level) in inputs.namedTargets {
                for each in ReachabilityLevel.allCases { samples.add(name, each.label, value: level == each ? 1 : 0) }
            }
        }
    }
}

extension ReachabilityStatus {
    fileprivate var countedLinks: [Link] { self.links.filter { !$0.isExcluded } }
}

extension ScrapeInputs {
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

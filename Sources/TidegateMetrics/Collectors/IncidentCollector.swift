internal import TidegateCore

/// The metrics of incidents and of the time that was watched; without a recorder they have no series.
enum IncidentCollector {
    static func register(in registry: Registry) {
        self.collect(Catalogue.incidents, in: registry) { totals, key in Double(totals.begun[key] ?? 0) }
        self.collect(Catalogue.incidentOpen, in: registry) { totals, key in Double(totals.open[key] ?? 0) }
        self.collect(Catalogue.incidentSeconds, in: registry) { totals, key in totals.down[key]?.inSeconds ?? 0 }
        registry.collect(Catalogue.watchedSeconds) { inputs, samples in
            samples.add(value: inputs.incidents?.watched.inSeconds)
        }
        registry.collect(Catalogue.info) { inputs, samples in
            let labels = (inputs.deployment.site, inputs.deployment.provider)
            guard labels != (nil, nil) else { return }
            samples.add(labels.0 ?? "", labels.1 ?? "", value: 1)
        }
        registry.collect(Catalogue.targetObjective) { inputs, samples in
            for (name, share) in inputs.deployment.objectives.sorted(by: { $0.key < $1.key }) {
                samples.add(name, value: share)
            }
        }
        registry.collect(Catalogue.targetUpSeconds) { inputs, samples in
            for (name, account) in inputs.targetAccounts { samples.add(name, value: account.up.inSeconds) }
        }
        registry.collect(Catalogue.targetDownSeconds) { inputs, samples in
            for (name, account) in inputs.targetAccounts {
                for party in FaultParty.allCases {
                    samples.add(name, party.label, value: account.down[party]?.inSeconds ?? 0)
                }
            }
        }
    }

    // A series for each key that has had an incident.
    private static func collect(
        _ definition: MetricDefinition, in registry: Registry,
        _ value: @escaping @Sendable (IncidentTotals, IncidentTotals.Key) -> Double
    ) {
        registry.collect(definition) { inputs, samples in
            guard let totals = inputs.incidents else { return }
            for scope in Incident.Scope.allCases {
                for kind in Incident.Kind.allCases {
                    for party in FaultParty.allCases {
                        let key = IncidentTotals.Key(scope, kind, party)
                        guard totals.begun[key] != nil || totals.open[key] != nil || totals.down[key] != nil
                        else { continue }
                        samples.add(scope.label, kind.label, party.label, value: value(totals, key))
                    }
                }
            }
        }
    }
}

extension ScrapeInputs {
    fileprivate var targetAccounts: [(String, IncidentTotals.Account)] {
        (self.incidents?.targets ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

internal import TidegateCore

/// The metrics of other programs' connections; if nothing is observed, only the mode has series.
enum ConnectionCollector {
    private typealias Statistics = ConnectionStatistics

    /// Registers all of them; `overflows` counts targets beyond the limit.
    static func register(in registry: Registry, overflows: TableFamily<TextLabels, Counter>) {
        self.registerConnections(in: registry)
        self.registerFailures(in: registry)
        self.registerTraffic(in: registry)
        self.registerTargets(in: registry, ObservedTargetNames(overflows: overflows))
        self.registerKernel(in: registry)
        self.registerObservation(in: registry)
    }

    private static func registerConnections(in registry: Registry) {
        self.collect(Catalogue.observedConnections, in: registry, by: Statistics.State.allCases, \.connections)
        registry.collect(Catalogue.observedConnects, by: ConnectionOutcome.ofConnects) { inputs, outcome in
            inputs.observed.map { $0.connects[outcome] ?? 0 }
        }
        registry.collect(Catalogue.observedAccepts) { $0.observed?.accepts }
        self.collect(Catalogue.observedEnds, in: registry, by: ConnectionOutcome.ofEnds, \.ends)
    }

    private static func registerFailures(in registry: Registry) {
        registry.collect(Catalogue.observedFailures) { inputs, samples in
            guard let observed = inputs.observed else { return }
            for outcome in ConnectionOutcome.allCases where outcome.isFailure {
                for party in FaultParty.allCases {
                    // The usual series exist from the start: Prometheus sees no increase in a series that starts at 1.
                    let count = observed.failures[Statistics.Failure(outcome, party)]
                    guard count != nil || [.mine, .theirs, .unknown].contains(party) else { continue }
                    samples.add(outcome.label, party.label, value: count ?? 0)
                }
            }
        }
        self.collect(Catalogue.observedStalledConnections, in: registry, by: ConnectionStall.allCases, \.stalled)
        self.collect(Catalogue.observedStalls, in: registry, by: ConnectionStall.allCases, \.stalls)
    }

    private static func registerTraffic(in registry: Registry) {
        registry.collect(Catalogue.observedLastAnswer) { inputs, samples in
            for scope in ConnectionScope.allCases {
                samples.add(scope.label, value: inputs.observed?.lastAnswers[scope]?.seconds)
            }
        }
        registry.collect(Catalogue.observedRoundTrip) { inputs, samples in
            for scope in ConnectionScope.allCases {
                samples.add(scope.label, distribution: inputs.observed?.roundTrips[scope])
            }
        }
        self.collect(Catalogue.observedSentSegments, in: registry) { $0.sentSegments }
        self.collect(Catalogue.observedRetransmittedSegments, in: registry) { $0.retransmittedSegments }
        registry.collect(Catalogue.observedLimited) { inputs, samples in
            for limit in FlowLimit.allCases {
                samples.add(limit.label, value: inputs.observed.map { Double($0.limits[limit]) / 1000 })
            }
        }
        self.collect(Catalogue.observedSentBytes, in: registry) { $0.sentBytes }
        self.collect(Catalogue.observedReceivedBytes, in: registry) { $0.receivedBytes }
    }

    // One series for each direction.
    private static func collect(
        _ definition: MetricDefinition, in registry: Registry,
        _ value: @escaping @Sendable (ConnectionStatistics.Traffic) -> UInt64
    ) {
        registry.collect(definition, by: ConnectionDirection.allCases) { $0.traffic(in: $1).map(value) }
    }

    // One series for each direction and key.
    private static func collect<Key: MetricLabel, Number: BinaryInteger & SendableMetatype>(
        _ definition: MetricDefinition, in registry: Registry, by keys: [Key],
        _ counts: any KeyPath<ConnectionStatistics.Traffic, [Key: Number]> & Sendable
    ) {
        registry.collect(definition) { inputs, samples in
            for direction in ConnectionDirection.allCases {
                guard let traffic = inputs.traffic(in: direction) else { return }
                for key in keys {
                    samples.add(direction.label, key.label, value: traffic[keyPath: counts][key] ?? 0)
                }
            }
        }
    }

    // One series for each target and key.
    private static func collect<Key: MetricLabel, Number: BinaryInteger & SendableMetatype>(
        _ definition: MetricDefinition, in registry: Registry, of names: ObservedTargetNames, by keys: [Key],
        _ counts: any KeyPath<ConnectionStatistics.OfTarget, [Key: Number]> & Sendable
    ) {
        registry.collect(definition) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                for key in keys { samples.add(name, key.label, value: target[keyPath: counts][key] ?? 0) }
            }
        }
    }

    private static func registerTargets(in registry: Registry, _ names: ObservedTargetNames) {
        let outcomes = (connects: ConnectionOutcome.ofConnects, ends: ConnectionOutcome.ofEnds)
        self.collect(
            Catalogue.observedTargetConnections, in: registry, of: names, by: Statistics.State.allCases, \.connections)
        self.collect(Catalogue.observedTargetConnects, in: registry, of: names, by: outcomes.connects, \.connects)
        self.collect(Catalogue.observedTargetEnds, in: registry, of: names, by: outcomes.ends, \.ends)
        registry.collect(Catalogue.observedTargetLastAnswer) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                samples.add(name, value: target.lastAnswer?.seconds)
            }
        }
    }

    private static func registerKernel(in registry: Registry) {
        let counters: [(MetricDefinition, @Sendable (TCPCounters) -> UInt64)] = [
            (Catalogue.tcpActiveOpens, { $0.activeOpens }), (Catalogue.tcpPassiveOpens, { $0.passiveOpens }),
            (Catalogue.tcpAttemptFails, { $0.attemptFails }),
            (Catalogue.tcpEstablishedResets, { $0.establishedResets }),
            (Catalogue.tcpSentResets, { $0.sentResets }),
            (Catalogue.tcpRetransmittedSegments, { $0.retransmittedSegments }),
            (Catalogue.tcpSYNRetransmits, { $0.synRetransmits }), (Catalogue.tcpTimeoutAborts, { $0.timeoutAborts }),
            (Catalogue.tcpListenOverflows, { $0.listenOverflows }),
        ]
        for (definition, value) in counters { registry.collect(definition) { $0.observed?.kernel.map(value) } }
    }

    private static func registerObservation(in registry: Registry) {
        registry.collect(Catalogue.observationMode, by: ObservationMode.allCases) {
            ($0.connections?.mode ?? .off) == $1 ? 1 : 0
        }
        registry.collect(Catalogue.observationMessages) { inputs, samples in
            guard let observed = inputs.observed else { return }
            samples.add("tcp4", value: observed.messages[.ipv4] ?? 0)
            samples.add("tcp6", value: observed.messages[.ipv6] ?? 0)
        }
        registry.collect(Catalogue.observationDropped) { $0.observed?.dropped }
        registry.collect(Catalogue.observationUnexplained, by: Statistics.Unexplained.allCases) { inputs, kind in
            inputs.observed.map { $0.unexplained[kind] ?? 0 }
        }
        registry.collect(Catalogue.observationExcluded, by: Statistics.Exclusion.allCases) { inputs, kind in
            inputs.observed.map { $0.excluded[kind] ?? 0 }
        }
        registry.collect(Catalogue.observationDumpDuration) { inputs, samples in
            for kind in Statistics.Dump.allCases {
                samples.add(kind.label, distribution: inputs.observed?.dumps[kind])
            }
        }
        registry.collect(Catalogue.observationTracked) { $0.observed?.tracked }
        registry.collect(Catalogue.observationReceiveBuffer) { $0.observed?.receiveBufferBytes }
    }
}

extension ConnectionOutcome {
    fileprivate static let ofConnects = ConnectionOutcome.allCases.filter(\.isOfConnect)
    fileprivate static let ofEnds = ConnectionOutcome.allCases.filter { !$0.isOfConnect }
}

internal import TidegateCore

/// What is observed of the connections of other programs; where nothing is, only the mode has series.
enum ConnectionCollector {
    private typealias Statistics = ConnectionStatistics

    /// Registers all of them; targets beyond the bound are counted in `overflows`.
    static func register(in registry: Registry, overflows: TableFamily<OtherLabel, Counter>) {
        self.registerConnections(in: registry)
        self.registerFailures(in: registry)
        self.registerTraffic(in: registry)
        self.registerTargets(in: registry, ObservedTargetNames(overflows: overflows))
        self.registerKernel(in: registry)
        self.registerObservation(in: registry)
    }

    private static func registerConnections(in registry: Registry) {
        registry.collect(Catalogue.observedConnections) { inputs, samples in
            for (direction, traffic) in inputs.traffic {
                for state in Statistics.State.allCases {
                    samples.add(direction.label, state.label, value: traffic.connections[state] ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedConnects) { inputs, samples in
            guard let observed = inputs.observed else { return }
            for outcome in ConnectionOutcome.ofConnects {
                samples.add(outcome.label, value: observed.connects[outcome] ?? 0)
            }
        }
        registry.collect(Catalogue.observedAccepts) { inputs, samples in
            if let observed = inputs.observed { samples.add(value: observed.accepts) }
        }
        registry.collect(Catalogue.observedEnds) { inputs, samples in
            for (direction, traffic) in inputs.traffic {
                for outcome in ConnectionOutcome.ofEnds {
                    samples.add(direction.label, outcome.label, value: traffic.ends[outcome] ?? 0)
                }
            }
        }
    }

    private static func registerFailures(in registry: Registry) {
        registry.collect(Catalogue.observedFailures) { inputs, samples in
            guard let observed = inputs.observed else { return }
            for outcome in ConnectionOutcome.allCases where outcome.isFailure {
                for party in FaultParty.allCases {
                    // The usual ones are there from the start: a series that starts at 1 has not increased.
                    let count = observed.failures[Statistics.Failure(outcome, party)]
                    guard count != nil || party.isUsual else { continue }
                    samples.add(outcome.label, party.label, value: count ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedStalledConnections) { inputs, samples in
            for (direction, traffic) in inputs.traffic {
                for kind in ConnectionStall.allCases {
                    samples.add(direction.label, kind.label, value: traffic.stalled[kind] ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedStalls) { inputs, samples in
            for (direction, traffic) in inputs.traffic {
                for kind in ConnectionStall.allCases {
                    samples.add(direction.label, kind.label, value: traffic.stalls[kind] ?? 0)
                }
            }
        }
    }

    private static func registerTraffic(in registry: Registry) {
        registry.collect(Catalogue.observedLastAnswer) { inputs, samples in
            for scope in ConnectionScope.allCases {
                if let time = inputs.observed?.lastAnswers[scope] { samples.add(scope.label, value: time.seconds) }
            }
        }
        registry.collect(Catalogue.observedRoundTrip) { inputs, samples in
            for scope in ConnectionScope.allCases {
                if let trips = inputs.observed?.roundTrips[scope] { samples.add(scope.label, distribution: trips) }
            }
        }
        self.collect(Catalogue.observedSentSegments, in: registry) { $0.sentSegments }
        self.collect(Catalogue.observedRetransmittedSegments, in: registry) { $0.retransmittedSegments }
        self.collect(Catalogue.observedSentBytes, in: registry) { $0.sentBytes }
        self.collect(Catalogue.observedReceivedBytes, in: registry) { $0.receivedBytes }
    }

    private static func collect(
        _ definition: MetricDefinition, in registry: Registry,
        _ value: @escaping @Sendable (ConnectionStatistics.Traffic) -> UInt64
    ) {
        registry.collect(definition) { inputs, samples in
            for (direction, traffic) in inputs.traffic { samples.add(direction.label, value: value(traffic)) }
        }
    }

    private static func registerTargets(in registry: Registry, _ names: ObservedTargetNames) {
        registry.collect(Catalogue.observedTargetConnections) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                for state in Statistics.State.allCases {
                    samples.add(name, state.label, value: target.connections[state] ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedTargetConnects) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                for outcome in ConnectionOutcome.ofConnects {
                    samples.add(name, outcome.label, value: target.connects[outcome] ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedTargetEnds) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                for outcome in ConnectionOutcome.ofEnds {
                    samples.add(name, outcome.label, value: target.ends[outcome] ?? 0)
                }
            }
        }
        registry.collect(Catalogue.observedTargetLastAnswer) { inputs, samples in
            for (name, target) in names.labelled(inputs.observed, in: samples.definition) {
                if let time = target.lastAnswer { samples.add(name, value: time.seconds) }
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
        for (definition, value) in counters {
            registry.collect(definition) { inputs, samples in
                if let kernel = inputs.observed?.kernel { samples.add(value: value(kernel)) }
            }
        }
    }

    private static func registerObservation(in registry: Registry) {
        registry.collect(Catalogue.observationMode) { inputs, samples in
            let current = inputs.connections?.mode ?? .off
            for mode in ObservationMode.allCases { samples.add(mode.label, value: mode == current ? 1 : 0) }
        }
        registry.collect(Catalogue.observationMessages) { inputs, samples in
            guard let observed = inputs.observed else { return }
            samples.add("tcp4", value: observed.messages[.ipv4] ?? 0)
            samples.add("tcp6", value: observed.messages[.ipv6] ?? 0)
        }
        registry.collect(Catalogue.observationDropped) { inputs, samples in
            if let observed = inputs.observed { samples.add(value: observed.dropped) }
        }
        registry.collect(Catalogue.observationUnexplained) { inputs, samples in
            guard let observed = inputs.observed else { return }
            for kind in Statistics.Unexplained.allCases {
                samples.add(kind.label, value: observed.unexplained[kind] ?? 0)
            }
        }
        registry.collect(Catalogue.observationDumpDuration) { inputs, samples in
            for kind in Statistics.Dump.allCases {
                if let dumps = inputs.observed?.dumps[kind] { samples.add(kind.label, distribution: dumps) }
            }
        }
        registry.collect(Catalogue.observationTracked) { inputs, samples in
            if let observed = inputs.observed { samples.add(value: observed.tracked) }
        }
        registry.collect(Catalogue.observationReceiveBuffer) { inputs, samples in
            if let observed = inputs.observed { samples.add(value: observed.receiveBufferBytes) }
        }
    }
}

extension ConnectionOutcome {
    fileprivate static let ofConnects = ConnectionOutcome.allCases.filter(\.isOfConnect)
    fileprivate static let ofEnds = ConnectionOutcome.allCases.filter { !$0.isOfConnect }
}

extension FaultParty {
    fileprivate var isUsual: Bool { self == .mine || self == .theirs || self == .unknown }
}

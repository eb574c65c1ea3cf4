package import TidegateCore

/// Counts observations for metrics.
struct StatisticsRecorder {
    var statistics = ConnectionStatistics()

    init() {
        // Every series exists from the start, so that its first increase is visible.
        for direction in ConnectionDirection.allCases { self.statistics.traffic[direction] = .init() }
        for outcome in ConnectionOutcome.allCases where outcome.isOfConnect { self.statistics.connects[outcome] = 0 }
    }

    mutating func dump(_ kind: ConnectionStatistics.Dump, took duration: Duration) {
        self.statistics.dumps[kind, default: .init(bounds: ConnectionStatistics.dumpBounds)].add(duration)
    }

    mutating func connect(_ outcome: ConnectionOutcome, target: String?) {
        self.statistics.connects[outcome, default: 0] += 1
        if let target { self.statistics.targets[target, default: .init()].connects[outcome, default: 0] += 1 }
    }

    mutating func end(_ outcome: ConnectionOutcome, _ direction: ConnectionDirection, target: String?) {
        self.statistics.traffic[direction, default: .init()].ends[outcome, default: 0] += 1
        if let target { self.statistics.targets[target, default: .init()].ends[outcome, default: 0] += 1 }
    }

    mutating func failure(_ outcome: ConnectionOutcome, _ party: FaultParty) {
        self.statistics.failures[.init(outcome, party), default: 0] += 1
    }

    mutating func stall(_ kind: ConnectionStall, _ direction: ConnectionDirection) {
        self.statistics.traffic[direction, default: .init()].stalls[kind, default: 0] += 1
    }

    mutating func traffic(_ delta: TrafficDelta, _ direction: ConnectionDirection) {
        var traffic = self.statistics.traffic[direction] ?? .init()
        traffic.sentSegments += delta.sentSegments
        traffic.retransmittedSegments += delta.retransmittedSegments
        traffic.sentBytes += delta.sentBytes
        traffic.receivedBytes += delta.receivedBytes
        self.statistics.traffic[direction] = traffic
        self.statistics.limits += delta.limits
    }

    mutating func roundTrip(_ duration: Duration, _ scope: ConnectionScope) {
        self.statistics.roundTrips[scope, default: .init(bounds: ConnectionStatistics.roundTripBounds)].add(duration)
    }

    /// Records that a remote answered at `time`.
    mutating func answer(_ address: IPAddress, target: String?, at time: WallTime) {
        let scope = ConnectionScope(address)
        self.statistics.lastAnswers[scope] = max(self.statistics.lastAnswers[scope] ?? time, time)
        guard let target else { return }
        let last = self.statistics.targets[target]?.lastAnswer
        self.statistics.targets[target, default: .init()].lastAnswer = max(last ?? time, time)
    }

    /// Takes the counts of the last lists.
    mutating func gauges(_ remotes: RemoteTable, targets: TargetIndex) {
        for direction in ConnectionDirection.allCases {
            self.statistics.traffic[direction, default: .init()].connections = [:]
            self.statistics.traffic[direction, default: .init()].stalled = [:]
        }
        for name in self.statistics.targets.keys { self.statistics.targets[name]?.connections = [:] }
        for (remote, entry) in remotes.entries where entry.count > 0 {
            self.statistics.traffic[remote.direction, default: .init()].connections
                .merge(entry.counts, uniquingKeysWith: +)
            self.statistics.traffic[remote.direction, default: .init()].stalled
                .merge(entry.stalled, uniquingKeysWith: +)
            if let name = targets.name(of: remote) {
                self.statistics.targets[name, default: .init()].connections.merge(entry.counts, uniquingKeysWith: +)
            }
        }
    }
}

/// A configured target, which labels matching connections of other programs.
package struct ObservedTarget: Sendable, Hashable {
    /// Its name in metrics.
    package var name: String
    /// Its addresses, from this program's resolver.
    package var addresses: [IPAddress]
    /// Its port; nil for any.
    package var port: UInt16?

    package init(name: String, addresses: [IPAddress], port: UInt16?) {
        self.name = name
        self.addresses = addresses
        self.port = port
    }
}

/// Finds the target that matches a remote.
struct TargetIndex {
    private var targets: [IPAddress: [(port: UInt16?, name: String)]] = [:]

    init(_ targets: [ObservedTarget] = []) {
        for target in targets {
            for address in target.addresses {
                self.targets[address.withoutZone, default: []].append((target.port, target.name))
            }
        }
    }

    /// The target that programs of this machine reach at a remote; nil if none matches.
    ///
    /// If the kernel no longer reports the port, the only target with that address matches.
    func name(of remote: Remote) -> String? {
        guard remote.direction == .outgoing, let found = self.targets[remote.address.withoutZone] else { return nil }
        guard let port = remote.port else { return found.count == 1 ? found.first?.name : nil }
        return (found.first { $0.port == port } ?? found.first { $0.port == nil })?.name
    }
}

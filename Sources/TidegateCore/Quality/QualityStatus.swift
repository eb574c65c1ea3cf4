/// How good this host's way out is over time, and what is slow.
package struct QualityStatus: Sendable, Hashable {
    /// A host on the way out that is sent an echo again and again.
    package struct Host: Sendable, Hashable {
        package let segment: Segment
        package let address: IPAddress
        /// The usual round trip; nil until enough is known.
        package var normal: Duration?
        /// The echoes of the last hour, the newest last.
        package private(set) var echoes: [Echo] = []

        /// An echo and its round trip; nil for a lost one.
        package struct Echo: Sendable, Hashable {
            package let time: WallTime
            package let roundTrip: Duration?
        }

        /// An hour of one echo each ten seconds.
        private static let mostEchoes = 360
        /// A minute of them.
        private static let recent = 6

        /// A host that was not sent an echo yet.
        package init(_ segment: Segment, _ address: IPAddress, normal: Duration? = nil) {
            (self.segment, self.address, self.normal) = (segment, address, normal)
        }

        /// Adds the newest echo.
        package mutating func add(_ roundTrip: Duration?, at time: WallTime) {
            self.echoes.append(Echo(time: time, roundTrip: roundTrip))
            if self.echoes.count > Self.mostEchoes { self.echoes.removeFirst() }
        }

        /// The median of the last minute's answers; nil without one.
        package var roundTrip: Duration? { self.echoes.suffix(Self.recent).compactMap(\.roundTrip).median }

        /// How many of the last hour's echoes were lost.
        package var lost: Int { self.echoes.count { $0.roundTrip == nil } }

        /// The share of the last hour's echoes that was lost; nil before the first one.
        package var lossRatio: Double? {
            self.echoes.isEmpty ? nil : Double(self.lost) / Double(self.echoes.count)
        }

        /// The last hour in parts of `size` echoes, the newest last: how many were lost, and the median of the others.
        package func parts(of size: Int) -> [(time: WallTime, lost: Int, median: Duration?)] {
            stride(from: self.echoes.count % size, to: self.echoes.count, by: size).map { start in
                let part = self.echoes[start..<start + size]
                let trips = part.compactMap(\.roundTrip)
                return (self.echoes[start].time, part.count - trips.count, trips.median)
            }
        }
    }

    /// Something that works and is slow.
    package struct Trouble: Sendable, Hashable {
        /// When it became slow.
        package var since: WallTime
        /// Why.
        package var cause: SlowCause
        /// What to do about it, in one sentence; empty if there is nothing to do.
        package var advice: String
        /// What was measured.
        package var evidence: JSONValue

        /// Trouble from its parts.
        package init(since: WallTime, cause: SlowCause, advice: String, evidence: JSONValue) {
            (self.since, self.cause, self.advice, self.evidence) = (since, cause, advice, evidence)
        }

        /// The responsible party.
        package var party: FaultParty { self.cause.party }

        fileprivate var members: [JSONValue.Member] {
            [
                .init("since", .string(self.since.description)), .init("begins", .string(self.cause.segment.rawValue)),
                .init("party", .string(self.party.rawValue)), .init("cause", .string(Cause.slow(self.cause).code)),
                .init("text", .string(Cause.slow(self.cause).description)), .init("advice", .string(self.advice)),
            ]
        }
    }

    /// The hosts on the way out, the nearest first; empty while none is watched.
    package var hosts: [Host] = []
    /// The interface of the way out; nil without one.
    package var interface: String?
    /// What it shows; counters are those since they exist.
    ///
    /// Empty if it was not read lately.
    package var own = HostEvidence()
    /// What makes this host's way out slow; nil if nothing does.
    package var network: Trouble?
    /// The slow targets.
    package var targets: [Target: Trouble] = [:]

    /// Nothing is known.
    package init() {}

    /// The member `quality` of `/api/v1/status`; `names` are those of the configured targets.
    ///
    /// Null while nothing is watched.
    package func json(names: [Target: String]) -> JSONValue {
        if self.hosts.isEmpty, self.network == nil, self.targets.isEmpty { return .null }
        let segments = self.hosts.map { host -> JSONValue in
            [
                "segment": .string(host.segment.rawValue), "address": .string(host.address.description),
                "roundTripSeconds": .seconds(host.roundTrip), "normalSeconds": .seconds(host.normal),
                "lossRatio": .optional(host.lossRatio), "samples": .whole(host.echoes.count),
            ]
        }
        let targets = self.targets.map { ($0.value.since, names[$0.key] ?? $0.key.description, $0.value) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        return [
            "slow": .bool(self.network != nil || !self.targets.isEmpty),
            "network": self.network.map { .object($0.members) } ?? .null,
            "targets": .array(targets.map { .object([.init("target", .string($0.1))] + $0.2.members) }),
            "segments": .array(segments), "link": self.interface.map { self.own.json(of: $0) } ?? .null,
        ]
    }
}

internal import Foundation
package import TidegateCore

/// The measurements of a path to a target, as a file keeps them; times are in whole microseconds.
package struct RecordedQuality: Codable, Sendable {
    fileprivate struct Host: Codable {
        var segment: String
        var address: String
        var normal: Int?
        var sent: Int
        var gaps: Int
        var roundTrips: [Int]
    }

    private struct Lookup: Codable {
        var resolver: String
        var answer: Int
        var roundTrip: Int
    }

    // What a connection was seen to do; counts of 0 are left out.
    fileprivate struct Connection: Codable {
        var address: String
        var program: String
        var counts: [String: UInt64]
        var times: [String: Int]
        var series: [String: [UInt32]]
        var trips: [String: [Int]]
        var seconds: [String: Set<UInt64>]
    }

    private struct Link: Codable {
        var speed: Int?
        var isHalfDuplex: Bool
        var signal: Int?
        var bitRate: Double?
        var pressure: Double?
    }

    private var interface: String
    private var hosts: [Host]
    private var reference: Host?
    // By the names of the phases.
    private var phases: [String: Int]
    private var lookup: Lookup?
    private var lateness: Int
    private var linkErrors: UInt64?
    // Nil in recordings of the way alone.
    private var target: String?
    private var isAsked: Bool?
    private var connects: [Int]?
    private var connections: [Connection]?
    private var own: [String: UInt64]?
    private var backlogs: [UInt32]?
    private var link: Link?
    /// In bits per second.
    private var ownTraffic: Int?

    /// A copy of measurements.
    package init(_ evidence: QualityEvidence) {
        self.interface = evidence.interface
        self.hosts = evidence.hosts.map(Host.init)
        self.reference = evidence.reference.map(Host.init)
        self.phases = evidence.phases.recorded
        self.lookup = evidence.lookup.map {
            Lookup(
                resolver: $0.resolver.description, answer: $0.answer.recorded, roundTrip: $0.roundTrip.recorded)
        }
        self.lateness = evidence.lateness.recorded
        self.linkErrors = evidence.own.errors
        self.ownTraffic = evidence.ownTraffic.map { Int($0) }
        (self.target, self.isAsked) = (evidence.target?.description, evidence.isAsked)
        (self.connects, self.connections) = (evidence.connects.map(\.recorded), evidence.flows.map(Connection.init))
        self.own = HostEvidence.recorded.compactMapValues { evidence.own[keyPath: $0] }
        self.backlogs = evidence.own.backlogs
        self.link = Link(
            speed: evidence.own.speed, isHalfDuplex: evidence.own.isHalfDuplex, signal: evidence.own.signal,
            bitRate: evidence.own.bitRate, pressure: evidence.own.pressure)
    }

    /// The measurements again.
    package func evidence() throws -> QualityEvidence {
        var evidence = QualityEvidence(interface: self.interface)
        evidence.hosts = try self.hosts.map(Self.host)
        evidence.reference = try self.reference.map(Self.host)
        evidence.phases = PhaseDurations(recorded: self.phases)
        evidence.lookup = try self.lookup.map {
            QualityEvidence.Lookup(
                resolver: try Self.address($0.resolver), answer: .microseconds($0.answer),
                roundTrip: .microseconds($0.roundTrip))
        }
        evidence.lateness = .microseconds(self.lateness)
        evidence.own.errors = self.linkErrors
        evidence.ownTraffic = self.ownTraffic.map(Double.init)
        (evidence.target, evidence.isAsked) = (try self.target.map(Self.address), self.isAsked ?? false)
        evidence.connects = (self.connects ?? []).map { .microseconds($0) }
        evidence.flows = try (self.connections ?? []).map { try $0.flow(to: Self.address($0.address)) }
        for (name, value) in self.own ?? [:] {
            guard let counter = HostEvidence.recorded[name] else { throw TextError("counter \(name)") }
            evidence.own[keyPath: counter] = value
        }
        evidence.own.backlogs = self.backlogs ?? []
        if let link = self.link {
            (evidence.own.speed, evidence.own.isHalfDuplex) = (link.speed, link.isHalfDuplex)
            (evidence.own.signal, evidence.own.bitRate) = (link.signal, link.bitRate)
            evidence.own.pressure = link.pressure
        }
        return evidence
    }

    /// The measurements of a file, by situation.
    package static func read(_ path: String) throws -> [String: RecordedQuality] {
        try JSONDecoder().decode([String: RecordedQuality].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// One line of JSON.
    package func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    private static func host(_ recorded: Host) throws -> QualityEvidence.Host {
        guard let segment = Segment(rawValue: recorded.segment) else { throw TextError("segment \(recorded.segment)") }
        var host = QualityEvidence.Host(segment, try self.address(recorded.address))
        host.normal = recorded.normal.map { .microseconds($0) }
        (host.sent, host.gaps) = (recorded.sent, recorded.gaps)
        host.roundTrips = recorded.roundTrips.map { .microseconds($0) }
        return host
    }

    private static func address(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else { throw TextError("address \(text)") }
        return address
    }
}

extension HostEvidence {
    fileprivate static var recorded: [String: WritableKeyPath<Self, UInt64?>] {
        [
            "drops": \.drops, "refusedDatagrams": \.refusedDatagrams, "packets": \.packets,
            "carrierLosses": \.carrierLosses, "quotaPeriods": \.quotaPeriods, "throttledPeriods": \.throttledPeriods,
            "sentFrames": \.sentFrames, "repeatedFrames": \.repeatedFrames, "failedFrames": \.failedFrames,
        ]
    }
}

extension RecordedQuality.Connection {
    private static var counters: [String: WritableKeyPath<Flow, UInt64>] {
        [
            "sentSegments": \.sentSegments, "lostSegments": \.lostSegments, "receivedSegments": \.receivedSegments,
            "earlySegments": \.earlySegments, "sentBytes": \.sentBytes, "receivedBytes": \.receivedBytes,
        ]
    }
    private static var durations: [String: WritableKeyPath<Flow, Duration>] {
        [
            "time": \.time, "busy": \.busy, "limitedByPeer": \.limitedByPeer,
        ]
    }

    fileprivate init(_ flow: Flow) {
        (self.address, self.program) = (flow.address.description, flow.program)
        self.counts = Self.counters.mapValues { flow[keyPath: $0] }.filter { $0.value > 0 }
        self.counts["samples"] = UInt64(flow.samples)
        self.counts["countsLosses"] = flow.countsLosses ? 1 : nil
        self.counts["peerWindow"] = UInt64(flow.peerWindow)
        self.counts["segmentSize"] = UInt64(flow.segmentSize)
        self.times = Self.durations.mapValues { flow[keyPath: $0].recorded }
        self.times["shortestRoundTrip"] = flow.shortestRoundTrip?.recorded
        self.times["receiveRoundTrip"] = flow.receiveRoundTrip?.recorded
        self.series = ["ownWindows": flow.ownWindows, "unread": flow.unread]
        self.trips = ["pauses": flow.pauses.map(\.recorded), "roundTrips": flow.roundTrips.map(\.recorded)]
        self.seconds = ["lossy": flow.lossySeconds, "early": flow.earlySeconds]
    }

    fileprivate func flow(to address: IPAddress) -> Flow {
        var flow = Flow(to: address)
        flow.program = self.program
        for (name, counter) in Self.counters { flow[keyPath: counter] = self.counts[name] ?? 0 }
        for (name, time) in Self.durations { flow[keyPath: time] = .microseconds(self.times[name] ?? 0) }
        (flow.samples, flow.countsLosses) = (Int(self.counts["samples"] ?? 0), self.counts["countsLosses"] == 1)
        flow.peerWindow = UInt32(self.counts["peerWindow"] ?? 0)
        flow.segmentSize = UInt32(self.counts["segmentSize"] ?? 0)
        flow.shortestRoundTrip = self.times["shortestRoundTrip"].map { .microseconds($0) }
        flow.receiveRoundTrip = self.times["receiveRoundTrip"].map { .microseconds($0) }
        (flow.ownWindows, flow.unread) = (self.series["ownWindows"] ?? [], self.series["unread"] ?? [])
        flow.pauses = (self.trips["pauses"] ?? []).map { .microseconds($0) }
        flow.roundTrips = (self.trips["roundTrips"] ?? []).map { .microseconds($0) }
        (flow.lossySeconds, flow.earlySeconds) = (self.seconds["lossy"] ?? [], self.seconds["early"] ?? [])
        return flow
    }
}

extension RecordedQuality.Host {
    fileprivate init(_ host: QualityEvidence.Host) {
        self.init(
            segment: host.segment.rawValue, address: host.address.description, normal: host.normal?.recorded,
            sent: host.sent, gaps: host.gaps, roundTrips: host.roundTrips.map(\.recorded))
    }
}

extension PhaseDurations {
    private static let kept: [Phase] = [.resolve, .connect, .tls, .processing, .transfer]

    fileprivate var recorded: [String: Int] {
        Self.kept.reduce(into: [:]) { $0[$1.rawValue] = self[$1]?.recorded }
    }

    fileprivate init(recorded: [String: Int]) {
        func time(_ phase: Phase) -> Duration? { recorded[phase.rawValue].map { .microseconds($0) } }
        self.init()
        (self.resolve, self.connect, self.tls) = (time(.resolve), time(.connect), time(.tls))
        (self.processing, self.transfer) = (time(.processing), time(.transfer))
    }
}

extension Duration {
    fileprivate var recorded: Int { Int((self / .microseconds(1)).rounded()) }
}

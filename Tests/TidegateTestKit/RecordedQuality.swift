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

    private var interface: String
    private var hosts: [Host]
    private var reference: Host?
    // By the names of the phases.
    private var phases: [String: Int]
    private var lookup: Lookup?
    private var lateness: Int
    private var linkErrors: UInt64?
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

import Foundation
import Testing
import TidegateAttribution
import TidegateCore
import TidegateTestKit

/// Measurements of an emulated network, and where slowness begins in each.
///
/// `make bench ARGS=slowness` with TIDEGATE_WRITE_EVIDENCE=1 records them anew.
@Suite struct RecordedQualityTests {
    /// What is right to say of a situation.
    private struct Answer: Equatable, CustomStringConvertible {
        /// Nil if nothing may be called slow.
        var begins: Segment?
        var party: FaultParty?

        static let silence = Answer()

        var description: String { "\(self.begins?.rawValue ?? "-"), \(self.party?.rawValue ?? "-")" }
    }

    private static let router = Answer(begins: .router, party: .unknown)
    private static let provider = Answer(begins: .provider, party: .upstream)
    private static let line = Answer(begins: .provider, party: .unknown)
    private static let program = Answer(begins: .program, party: .mine)
    private static let server = Answer(begins: .server, party: .theirs)
    private static let path = Answer(begins: .path, party: .unknown)

    /// Without usual times a delay of 50 ms, or before the server, may be a distance.
    private static let answers: [String: Answer] = [
        "healthy": .silence, "healthy, a page of 400 ms": .silence, "routers limit ICMP errors": .silence,
        "jitter of 20 ms and reordering behind the router": .silence, "a long quiet path of 300 ms": .silence,
        "20 % loss before the router": router, "20 % loss behind the router": provider,
        "20 % loss before the server": path,
        // The router lost none of 50, and the hosts behind it two to six: the router may lose as much.
        "10 % loss before the router": router, "10 % loss behind the router": router,
        "10 % loss before the server": path,
        "5 % loss before the router": router, "5 % loss behind the router": provider,
        "5 % loss before the server": path,
        "50 ms more before the router": .silence, "50 ms more behind the router": .silence,
        "50 ms more before the server": .silence,
        "200 ms more before the router": router, "200 ms more behind the router": line,
        "200 ms more before the server": .silence,
        "an own upload fills the line": line,
        "the resolver takes 300 ms": Answer(begins: .resolver, party: .resolver),
        "the server takes 2 s": server,
        "the client reads slowly": program, "the client has a small buffer": program,
        "the server does not read": server, "the server has a small buffer": server,
        "the server sends in pieces": server, "the client sends little": .silence,
        "the server sends little and evenly": .silence, "a download with BBR": .silence,
        "a download over a fast line": .silence, "forty busy connections": .silence,
        "the server accepts late": server, "an own queue is full": Answer(begins: .thisHost, party: .mine),
    ]

    /// The same where the usual times were recorded.
    private static let answersWithUsualTimes: [String: Answer] = [
        "jitter of 20 ms and reordering behind the router": .silence,
        "50 ms more before the router": router, "50 ms more behind the router": line,
        "50 ms more before the server": .silence,
        "200 ms more before the router": router, "200 ms more behind the router": line,
        "200 ms more before the server": .silence,
        "an own upload fills the line": line,
    ]

    private static func recorded() throws -> [String: QualityEvidence] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Recorded/slowness.json")
        return try RecordedQuality.read(file.path).mapValues { try $0.evidence() }
    }

    private static func answers(_ evidence: [String: QualityEvidence]) -> [String: Answer] {
        evidence.mapValues { evidence in
            let cause = QualityTable.quality(of: evidence).cause
            return Answer(begins: cause?.segment, party: cause.map { Cause.slow($0).party })
        }
    }

    private static func expect(_ answers: [String: Answer], _ expected: [String: Answer]) {
        #expect(Set(answers.keys) == Set(expected.keys))
        for (situation, answer) in answers {
            #expect(answer == expected[situation], "\(situation)")
        }
    }

    @Test("Slowness begins where it was made, and its party is right; nothing else is called slow")
    func replay() throws {
        let evidence = try Self.recorded().mapValues { evidence in
            var evidence = evidence
            for index in evidence.hosts.indices { evidence.hosts[index].normal = nil }
            evidence.reference?.normal = nil
            return evidence
        }
        Self.expect(Self.answers(evidence), Self.answers)
    }

    @Test("The same, where it is known how long round trips usually take")
    func replayWithUsualTimes() throws {
        let evidence = try Self.recorded().filter { $0.value.hosts.contains { $0.normal != nil } }
        Self.expect(Self.answers(evidence), Self.answersWithUsualTimes)
    }

    @Test("A recording keeps every measurement")
    func copy() throws {
        let (near, far) = (IPAddress(ipv4: 0x0A00_0001), IPAddress(ipv4: 0xCB00_7102))
        func host(_ segment: Segment, _ address: IPAddress) -> QualityEvidence.Host {
            var host = QualityEvidence.Host(segment, address)
            (host.normal, host.sent, host.gaps) = (.microseconds(900), 3, 1)
            host.roundTrips = [.microseconds(1_234), .microseconds(1_001)]
            return host
        }
        var evidence = QualityEvidence(interface: "lan")
        (evidence.hosts, evidence.reference) = ([host(.router, near), host(.server, far)], host(.reference, far))
        (evidence.phases.resolve, evidence.phases.connect) = (.microseconds(1), .microseconds(2))
        (evidence.phases.tls, evidence.phases.processing) = (.microseconds(3), .microseconds(4))
        evidence.phases.transfer = .microseconds(5)
        evidence.lookup = .init(resolver: far, answer: .microseconds(6), roundTrip: .microseconds(7))
        (evidence.lateness, evidence.own.errors, evidence.ownTraffic) = (.microseconds(8), 9, 10)
        evidence.target = far
        (evidence.isAsked, evidence.connects) = (true, [.microseconds(11)])
        var flow = Flow(to: far)
        (flow.program, flow.time, flow.samples, flow.countsLosses) = ("rsync", .microseconds(12), 13, true)
        (flow.sentSegments, flow.lostSegments, flow.receivedSegments, flow.earlySegments) = (14, 15, 16, 17)
        (flow.sentBytes, flow.receivedBytes, flow.peerWindow, flow.segmentSize) = (18, 19, 20, 21)
        (flow.busy, flow.limitedByPeer) = (.microseconds(22), .microseconds(23))
        (flow.lossySeconds, flow.earlySeconds, flow.ownWindows, flow.unread) = ([24], [25], [26], [27])
        (flow.pauses, flow.roundTrips) = ([.microseconds(28)], [.microseconds(29)])
        (flow.shortestRoundTrip, flow.receiveRoundTrip) = (.microseconds(30), .microseconds(31))
        evidence.flows = [flow]
        (evidence.own.drops, evidence.own.refusedDatagrams, evidence.own.packets) = (32, 33, 34)
        (evidence.own.carrierLosses, evidence.own.quotaPeriods, evidence.own.throttledPeriods) = (35, 36, 37)
        evidence.own.backlogs = [38]
        (evidence.own.sentFrames, evidence.own.repeatedFrames, evidence.own.failedFrames) = (39, 40, 41)
        (evidence.own.speed, evidence.own.isHalfDuplex) = (42, true)
        (evidence.own.signal, evidence.own.bitRate, evidence.own.pressure) = (-43, 44.5, 0.45)
        #expect(try RecordedQuality(evidence).evidence() == evidence)
    }
}

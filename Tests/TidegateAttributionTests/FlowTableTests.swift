import Testing
import TidegateCore

@testable import TidegateAttribution

/// What connections of programs show, with figures as they were measured, beside connections that show nothing.
@Suite struct FlowTableTests {
    private static let router = IPAddress(ipv4: 0x0A00_0001)
    private static let server = IPAddress(ipv4: 0xCB00_7102)
    private static let other = IPAddress(ipv4: 0xC633_6402)

    /// An upload of six seconds: the rate in Mbit/s, the round trip in milliseconds, the share of lost segments.
    private static func upload(
        _ rate: Double, _ roundTrip: Double = 32, loss: Double = 0, to address: IPAddress = server,
        _ change: (inout Flow) -> Void = { _ in }
    ) throws -> Flow {
        var flow = Flow(to: address)
        (flow.program, flow.time, flow.samples) = ("rsync", .seconds(6), 30)
        (flow.segmentSize, flow.peerWindow) = (1448, 3_000_000)
        flow.sentBytes = UInt64(rate * 1_000_000 / 8 * 6)
        flow.sentSegments = UInt64(Double(flow.sentBytes) / 1448 / (1 - loss))
        flow.lostSegments = UInt64(Double(flow.sentSegments) * loss)
        flow.countsLosses = true
        flow.lossySeconds = flow.lostSegments > 3 ? Set(0..<5) : []
        flow.busy = .seconds(6)
        flow.roundTrips = [.microseconds(Int64(roundTrip * 1000))]
        flow.shortestRoundTrip = .microseconds(31_500)
        change(&flow)
        return flow
    }

    /// A download of six seconds: the rate in Mbit/s, and the early segments.
    private static func download(
        _ rate: Double, early: UInt64 = 0, from address: IPAddress = server, _ change: (inout Flow) -> Void = { _ in }
    ) throws -> Flow {
        var flow = Flow(to: address)
        (flow.program, flow.time, flow.samples) = ("wget", .seconds(6), 30)
        flow.receivedBytes = UInt64(rate * 1_000_000 / 8 * 6)
        flow.receivedSegments = flow.receivedBytes / 1448
        (flow.earlySegments, flow.earlySeconds) = (early, early > 2 ? Set(0..<5) : [])
        flow.countsLosses = true
        flow.unread = Array(repeating: 0, count: 30)
        flow.ownWindows = (0..<30).map { 500_000 + $0 * 10_000 }
        flow.pauses = Array(repeating: .zero, count: 30)
        (flow.shortestRoundTrip, flow.receiveRoundTrip) = (.microseconds(31_500), .milliseconds(32))
        change(&flow)
        return flow
    }

    /// A clean path to a target that answers at once, with these connections beside the measurement.
    private static func cause(
        of flows: Flow..., changing change: (inout QualityEvidence) -> Void = { _ in }
    ) throws -> SlowCause? {
        let (router, server) = (self.router, self.server)
        var evidence = QualityEvidence(interface: "lan")
        evidence.hosts = [(Segment.router, router, 1200), (.server, server, 31_700)].map { segment, address, trip in
            var host = QualityEvidence.Host(segment, address)
            (host.sent, host.roundTrips) = (46, Array(repeating: .microseconds(trip), count: 46))
            return host
        }
        (evidence.phases.connect, evidence.phases.processing) = (.milliseconds(32), .milliseconds(34))
        (evidence.target, evidence.flows, evidence.isAsked) = (server, flows, true)
        change(&evidence)
        return QualityTable.quality(of: evidence).cause
    }

    // MARK: The program

    @Test("A program that does not read lets bytes wait and its window close")
    func unread() throws {
        let slow = try Self.download(0.24) { flow in
            flow.unread = Array(repeating: 78_000, count: 30)
            flow.ownWindows = Array(repeating: 64_000, count: 3) + Array(repeating: 1024, count: 27)
        }
        #expect(try Self.cause(of: slow) == .connection(.unreadData(78_000, by: "wget")))
        // A busy one leaves data for a moment.
        let busy = try Self.download(80) { $0.unread = (0..<30).map { $0 % 2 == 0 ? 7240 : 0 } }
        #expect(try Self.cause(of: busy) == nil)
        let elsewhere = try Self.download(0.24, from: Self.other) { $0.unread = slow.unread }
        #expect(try Self.cause(of: elsewhere) == nil, "another connection does not make this target slow")
    }

    @Test("A small receive buffer explains a rate of one window for each round trip")
    func smallBuffer() throws {
        let small = try Self.download(2.1) { $0.ownWindows = Array(repeating: 8688, count: 30) }
        #expect(try Self.cause(of: small) == .connection(.smallBuffer(8688, by: "wget", roundTrip: .milliseconds(32))))
        let quiet = try Self.download(0.4) { $0.ownWindows = Array(repeating: 8688, count: 30) }
        #expect(try Self.cause(of: quiet) == nil, "the server sends less than the window takes")
        let old = try Self.download(2.1) { $0.ownWindows = [] }
        #expect(try Self.cause(of: old) == nil, "a kernel that does not report the window")
    }

    @Test("A program that sends little makes nothing slow", arguments: [0.16, 3.2, 10])
    func littleToSend(_ rate: Double) throws {
        let flow = try Self.upload(rate) { $0.busy = .seconds(1) }
        #expect(try Self.cause(of: flow) == nil)
    }

    // MARK: The server

    @Test("A closed window is a server that does not read; a small one takes a window each round trip")
    func windows() throws {
        let (server, address) = (Self.server, Self.server)
        let closed = try Self.upload(0.19, 73, to: server) { ($0.limitedByPeer, $0.peerWindow) = (.seconds(6), 0) }
        #expect(try Self.cause(of: closed) == .connection(.serverDoesNotRead(address)))
        let small = try Self.upload(2.1, 32.7) { ($0.limitedByPeer, $0.peerWindow) = (.seconds(6), 8688) }
        #expect(
            try Self.cause(of: small) == .connection(.smallWindow(8688, of: address, roundTrip: .microseconds(32_700))))
        let open = try Self.upload(19.6, 34) { ($0.limitedByPeer, $0.peerWindow) = (.milliseconds(60), 8688) }
        #expect(try Self.cause(of: open) == nil)
    }

    @Test("Pauses between pieces are the server's, if nothing waits or is lost meanwhile")
    func pieces() throws {
        let address = Self.server
        func pausing(_ change: (inout Flow) -> Void = { _ in }) throws -> Flow {
            try Self.download(0.4) { flow in
                flow.pauses = (0..<30).map { .milliseconds($0 % 2 == 0 ? 180 : 20) }
                change(&flow)
            }
        }
        #expect(try Self.cause(of: pausing()) == .connection(.serverPauses(.milliseconds(180), address)))
        #expect(try Self.cause(of: pausing { $0.earlySegments = 1 }) == nil)
        let late = try pausing { flow in for sample in 0..<6 { flow.unread[sample] = 100 } }
        #expect(try Self.cause(of: late) == .connection(.serverPauses(.milliseconds(180), address)))
        let waiting = try pausing { flow in for sample in 0..<7 { flow.unread[sample] = 100 } }
        #expect(try Self.cause(of: waiting) == nil, "the program does not read")
        #expect(try Self.cause(of: pausing { $0.time = .seconds(2) }) == nil)
        #expect(try Self.cause(of: pausing { $0.sentSegments = 15 }) == nil, "a program that asks every 0.4 s")
        #expect(try Self.cause(of: pausing { $0.receivedSegments = 30 }) == nil, "a server that sends events")
        // One answer, then silence.
        let idle = try pausing { flow in flow.pauses = (0..<30).map { .milliseconds($0 * 200) } }
        #expect(try Self.cause(of: idle) == nil)
    }

    @Test("A server whose every connect takes a second longer accepts late; lost echoes would explain it otherwise")
    func lateAccept() throws {
        func connects(_ milliseconds: Int..., lost: Int = 0) throws -> SlowCause? {
            try Self.cause {
                $0.connects = milliseconds.map { .milliseconds($0) }
                $0.phases.connect = .milliseconds(1032)
                $0.hosts[1].gaps = lost
                $0.hosts[1].roundTrips.removeLast(lost)
            }
        }
        #expect(
            try connects(1032, 1034, 1500) == .lateAccept(.milliseconds(1032), roundTrip: .microseconds(31_700)))
        #expect(try connects(1032, 1034, 33) == nil)
        #expect(try connects(1032) == nil)
        #expect(try connects(1032, 1034, 1500, lost: 1) == nil)
    }

    // MARK: The network

    @Test("Loss to one remote beside a clean one is on the way; a lone connection shows no place")
    func onTheWay() throws {
        let lossy = try Self.upload(1.2, 33, loss: 0.03)
        let ratio = Double(lossy.lostSegments) / Double(lossy.sentSegments)
        let clean = try Self.upload(1.2, to: Self.other)
        #expect(try Self.cause(of: lossy, clean) == .lossOnTheWay(ratio, to: Self.server))
        #expect(try Self.cause(of: lossy) == nil)
        let few = try Self.upload(0.2, to: Self.other)
        #expect(few.sentSegments < 200)
        #expect(try Self.cause(of: lossy, few) == nil)
        let once = try Self.upload(1.2, 33, loss: 0.03) { $0.lossySeconds = [1] }
        #expect(try Self.cause(of: once, clean) == nil, "one burst is one event")
    }

    @Test("Loss to two networks begins at or behind the router; behind it if its echoes exclude as much")
    func behind() throws {
        let router = Self.router
        func cause(_ loss: Double, router: (inout QualityEvidence.Host) -> Void = { _ in }) throws -> SlowCause? {
            try Self.cause(
                of: Self.upload(1.2, 33, loss: loss), Self.upload(1.2, 33, loss: loss + 0.01, to: Self.other)
            ) { router(&$0.hosts[0]) }
        }
        let flow = try Self.upload(1.2, 33, loss: 0.03)
        let ratio = Double(flow.lostSegments) / Double(flow.sentSegments)
        #expect(try cause(0.03) == .lossInOrBehind(ratio, router: router), "46 echoes do not exclude 3 %")
        let longer = try cause(0.03) { host in
            (host.sent, host.roundTrips) = (400, Array(repeating: .milliseconds(1), count: 400))
        }
        #expect(longer == .lossBehind(ratio, router: router, isEverywhere: true))
        #expect(try cause(0.03) { $0.gaps = 1 } == nil)
        #expect(try cause(0.005) == nil)
        let own = try Self.cause(
            of: Self.upload(1.2, 33, loss: 0.1), Self.upload(1.2, 33, loss: 0.1, to: Self.other)
        ) { $0.ownTraffic = 2_400_000 }
        #expect(own.map { Cause.slow($0).party } == .unknown, "this host may fill the line: \(String(describing: own))")
        let nearlyClean = try Self.upload(20, loss: 0.001, to: Self.other)
        #expect(try Self.cause(of: Self.upload(1.2, 33, loss: 0.03), nearlyClean)?.segment == .path)
        let old = try Self.upload(1.2, 33, loss: 0.03) { $0.countsLosses = false }
        #expect(try Self.cause(of: old, nearlyClean) == nil, "a kernel that does not count what is needed")
    }

    @Test("A queue that TCP fills, reordering, and a lossless BBR-like rate are no loss")
    func noLoss() throws {
        let clean = try Self.upload(1.2, to: Self.other)
        // 4 Mbit/s with a queue of 250 kB.
        #expect(try Self.cause(of: Self.upload(4.2, 428, loss: 0.008), clean) == nil)
        #expect(try Self.cause(of: Self.upload(3.9, 58, loss: 0.013), clean) == nil)
        // 150 of 10,000 segments came early.
        let read = try Self.download(4.1, from: Self.other)
        #expect(try Self.cause(of: Self.download(20, early: 140), read) == nil)
        let lossy = try Self.download(1.5, early: 220)
        #expect(try Self.cause(of: lossy, read)?.segment == .path, "5 % are lost")
        #expect(try Self.cause(of: lossy, clean) == nil, "one direction shows nothing about the other")
    }

    @Test("A rate limit loses much, builds no queue, lets echoes pass and is faster than random loss")
    func rateLimit() throws {
        let address = Self.server
        let limited = try Self.upload(3.6, 31.6, loss: 0.27)
        #expect(try Self.cause(of: limited) == .connection(.rateLimit(limited.sendRate, to: address)))
        #expect(try Self.cause(of: Self.upload(1.4, 36, loss: 0.05)) == nil, "random loss")
        let echoes = try Self.cause(of: limited) { evidence in
            evidence.hosts[1].gaps = 9
            evidence.hosts[1].roundTrips.removeLast(12)
        }
        #expect(echoes != .connection(.rateLimit(limited.sendRate, to: address)))
    }

    @Test("A connection that is slowed makes a request neither slow nor fast, unless a measurement was asked for")
    func notAsked() throws {
        let slow = try Self.download(0.24) { flow in
            flow.unread = Array(repeating: 78_000, count: 30)
            flow.ownWindows = Array(repeating: 64_000, count: 3) + Array(repeating: 1024, count: 27)
        }
        var evidence = QualityEvidence(interface: "lan")
        (evidence.target, evidence.flows) = (Self.server, [slow])
        let quality = QualityTable.quality(of: evidence)
        #expect(quality.cause == nil && quality.limit == .connection(.unreadData(78_000, by: "wget")))
        #expect(quality.findings.contains("wget does not read what arrives; 76.1 KiB wait"), "\(quality.findings)")
    }

    @Test("A deep queue on the way is no small window", arguments: [64, 500])
    func queue(_ milliseconds: Double) throws {
        let full = try Self.upload(1.1, milliseconds) { flow in
            (flow.limitedByPeer, flow.peerWindow) = (.seconds(6), UInt32(1.1e6 / 8 * milliseconds / 1000))
        }
        #expect(try Self.cause(of: full) == nil)
    }

    @Test("Of short connections nothing is said")
    func short() throws {
        let short = try Self.upload(0.19, 73) { flow in
            (flow.limitedByPeer, flow.peerWindow, flow.time) = (.seconds(6), 0, .seconds(1))
        }
        #expect(try Self.cause(of: short) == nil)
        let few = try Self.upload(2.1, 32.7) { flow in
            (flow.limitedByPeer, flow.peerWindow, flow.sentSegments) = (.seconds(6), 8688, 12)
        }
        #expect(try Self.cause(of: few) == nil)
        #expect(try Self.cause(of: Self.download(2.1) { $0.time = .seconds(1) }) == nil)
    }
}

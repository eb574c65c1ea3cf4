import Testing
@testable import TidegateConnections
import TidegateCore
@testable import TidegateNetwork

/// Whether a connection hangs, by one report of the kernel.
struct StallDetectorTests {
    private static func report(
        _ state: SocketReport.State, timer: SocketReport.Timer = .retransmission, expiries: UInt8 = 0,
        timeLeft: Duration = .zero, _ change: (inout TCPInfo) -> Void = { _ in }
    ) -> SocketReport {
        var info = TCPInfo()
        change(&info)
        var report = SocketReport(
            state: state, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: 40_000),
            remote: .init(address: IPAddress(ipv4: 0xC633_6402), port: 443), cookie: 1, tcp: info)
        report.timer = timer
        report.timerExpiries = expiries
        report.timeLeft = timeLeft
        return report
    }

    @Test(
        "The age of a connect follows from its timer, with linear timeouts and with doubled ones",
        arguments: [
            // Linux 6.5 and later: 1, 2, 3, 4, 5, 7, 11 s.
            (1, 1, 0.4, 1.6), (3, 1, 0.9, 3.1), (5, 2, 0.5, 6.5), (6, 4, 1.0, 10.0),
            // Before: 1, 3, 7, 15 s.
            (1, 2, 1.5, 1.5), (2, 4, 1.0, 6.0), (3, 8, 3.0, 12.0),
        ] as [(UInt8, Int, Double, Double)])
    func connecting(_ expiries: UInt8, _ timeout: Int, _ left: Double, _ age: Double) throws {
        let report = Self.report(.synSent, expiries: expiries, timeLeft: .seconds(left)) {
            $0.retransmissionTimeout = UInt32(timeout * 1_000_000)
        }
        let stall = try #require(StallDetector.stall(of: report))
        #expect(stall.kind == .connecting)
        #expect(abs(stall.age.inSeconds - age) < 0.01, "\(stall.age)")
        #expect(stall.retransmits == Int(expiries))
        #expect(stall.nextTry == .seconds(left))
    }

    @Test("A connect that is younger than a second does not hang")
    func young() {
        let report = Self.report(.synSent, timeLeft: .milliseconds(300)) { $0.retransmissionTimeout = 1_000_000 }
        #expect(StallDetector.stall(of: report) == nil)
    }

    private static func silent(_ change: (inout TCPInfo) -> Void = { _ in }) -> SocketReport {
        // 200 ms, 400 ms and 400 ms of the third timeout.
        self.report(.established, timeLeft: .milliseconds(400)) { info in
            (info.unacknowledged, info.retransmits, info.retransmissionTimeout) = (1, 2, 800_000)
            (info.lastAcknowledgement, info.roundTrip) = (1240, 20_000)
            change(&info)
        }
    }

    @Test("Data that was sent again twice and is a second old hangs")
    func unanswered() {
        #expect(
            StallDetector.stall(of: Self.silent())
                == StallFinding(kind: .unanswered, age: .seconds(1), retransmits: 2, nextTry: .milliseconds(400)))
    }

    @Test("A connection that was idle hangs since it was used again, not since its last answer")
    func idleBefore() {
        let stall = StallDetector.stall(of: Self.silent { $0.lastAcknowledgement = 3_600_000 })
        #expect(stall?.age == .seconds(1))
        // Two timeouts have passed, but no second.
        let young = Self.silent { ($0.lastAcknowledgement, $0.retransmissionTimeout) = (3_600_000, 700_000) }
        #expect(StallDetector.stall(of: young) == nil)
    }

    @Test("One timeout, nothing under way, or a long round trip are no evidence")
    func noEvidence() {
        #expect(StallDetector.stall(of: Self.silent { $0.retransmits = 1 }) == nil)
        #expect(StallDetector.stall(of: Self.silent { $0.unacknowledged = 0 }) == nil)
        #expect(StallDetector.stall(of: Self.silent { $0.roundTrip = 300_000 }) == nil)
    }

    // The peer sends all the time, and acknowledges nothing.
    private static func cutOneWay(
        _ retransmits: UInt8, timeout: Int, left: Duration, roundTrip: Duration = .milliseconds(20)
    ) -> SocketReport {
        self.report(.established, timeLeft: left) { info in
            (info.unacknowledged, info.retransmits) = (1, retransmits)
            info.retransmissionTimeout = UInt32(timeout * 1000)
            info.roundTrip = UInt32(roundTrip.inSeconds * 1e6)
            info.lastAcknowledgement = 348
        }
    }

    @Test("Data that was sent again twice hangs for as long as its timeouts took, whatever the peer sends")
    func oneWay() {
        let report = Self.cutOneWay(4, timeout: 3264, left: .milliseconds(2592))
        #expect(
            StallDetector.stall(of: report)
                == StallFinding(
                    kind: .unanswered, age: .milliseconds(3060 + 672), retransmits: 4, nextTry: .milliseconds(2592)))
        // 200 ms, 400 ms and 400 ms of the third.
        #expect(
            StallDetector.stall(of: Self.cutOneWay(2, timeout: 800, left: .milliseconds(400)))
                == StallFinding(
                    kind: .unanswered, age: .seconds(1), retransmits: 2, nextTry: .milliseconds(400)))
        #expect(StallDetector.stall(of: Self.cutOneWay(2, timeout: 800, left: .milliseconds(401))) == nil)
        // Nor before what was sent last can be answered.
        let slow = Self.cutOneWay(2, timeout: 2000, left: .milliseconds(1800), roundTrip: .milliseconds(300))
        #expect(StallDetector.stall(of: slow) == nil)
    }

    @Test("What waits for an answer after a timeout, and does not hang yet, may be about to")
    func suspects() {
        #expect(StallDetector.isSuspect(Self.cutOneWay(1, timeout: 400, left: .milliseconds(300))))
        #expect(StallDetector.isSuspect(Self.cutOneWay(2, timeout: 800, left: .milliseconds(700))))
        // It hangs.
        #expect(!StallDetector.isSuspect(Self.cutOneWay(2, timeout: 800, left: .milliseconds(100))))
        // A packet under way.
        #expect(!StallDetector.isSuspect(Self.cutOneWay(0, timeout: 200, left: .milliseconds(100))))
        // Nothing under way.
        let idle = Self.report(.established) { $0.retransmits = 1 }
        #expect(!StallDetector.isSuspect(idle))
    }

    @Test("A timeout that is as long as it gets says nothing of those before it")
    func longestTimeout() {
        let report = Self.cutOneWay(10, timeout: 120_000, left: .seconds(110), roundTrip: .zero)
        // 200 ms to 102.4 s, and 10 s of the present one.
        #expect(StallDetector.stall(of: report)?.age == .milliseconds(204_600 + 10_000))
    }

    @Test("A closed window whose probes are not answered is silence")
    func unansweredProbes() {
        let silent = Self.report(.established, timer: .windowProbe, timeLeft: .seconds(2)) { info in
            (info.sendWindow, info.sentSegmentSize, info.lastDataSent, info.probes) = (0, 1448, 5000, 2)
        }
        #expect(
            StallDetector.stall(of: silent)
                == StallFinding(kind: .unanswered, age: .seconds(5), retransmits: 2, nextTry: .seconds(2)))
    }

    @Test("A window that is closed for a second hangs")
    func window() {
        let closed = Self.report(.established, timer: .windowProbe, timeLeft: .seconds(2)) { info in
            (info.sendWindow, info.sentSegmentSize, info.lastDataSent) = (0, 1448, 1500)
        }
        #expect(
            StallDetector.stall(of: closed)
                == StallFinding(kind: .window, age: .milliseconds(1500), retransmits: 0, nextTry: .seconds(2)))
        let fresh = Self.report(.established, timer: .windowProbe) { info in
            (info.sendWindow, info.sentSegmentSize, info.lastDataSent) = (0, 1448, 200)
        }
        #expect(StallDetector.stall(of: fresh) == nil)
    }

    @Test(
        "What has ended, and what only listens, does not hang",
        arguments: [SocketReport.State.timeWait, .listen, .close, .finWait2])
    func others(_ state: SocketReport.State) {
        let report = Self.report(state, expiries: 5) { ($0.unacknowledged, $0.retransmits) = (5, 5) }
        #expect(StallDetector.stall(of: report) == nil)
    }
}

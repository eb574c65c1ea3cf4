import Testing
@testable import TidegateConnections
import TidegateCore
@testable import TidegateNetwork

/// The decision table of endings, row by row: the first row that matches decides.
struct OutcomeTableTests {
    /// A report with numbers of its own, what is known besides, and what that means.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let report: SocketReport
        let context: OutcomeClassifier.Context
        let ending: ConnectionEnding?

        init(
            _ name: String, _ report: SocketReport, _ ending: ConnectionEnding?,
            context change: (inout OutcomeClassifier.Context) -> Void = { _ in }
        ) {
            var context = OutcomeClassifier.Context()
            change(&context)
            (self.testDescription, self.report, self.context, self.ending) = (name, report, context, ending)
        }
    }

    private static func report(
        localPort: UInt16 = 40_000, remote: UInt32 = 0xC633_6402, remotePort: UInt16 = 443,
        _ change: (inout SocketReport, inout TCPInfo) -> Void = { _, _ in }
    ) -> SocketReport {
        var info = TCPInfo()
        var report = SocketReport(
            state: .close, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: localPort),
            remote: .init(address: IPAddress(ipv4: remote), port: remotePort), cookie: 7)
        change(&report, &info)
        report.tcp = info
        return report
    }

    /// An established connection that has sent 100 bytes, all acknowledged, together with this many of SYN and FIN.
    private static func established(
        controls: UInt64, _ change: (inout SocketReport, inout TCPInfo) -> Void = { _, _ in }
    ) -> SocketReport {
        self.report { report, info in
            (info.sentBytes, info.acknowledgedBytes) = (100, 100 + controls)
            (info.deliveredSegments, info.shortestRoundTrip, info.sendWindow) = (2, 20, 65_536)
            change(&report, &info)
        }
    }

    /// One that was torn: the kernel has forgotten the port and the counters.
    private static func torn(
        isEstablished: Bool, _ change: (inout SocketReport, inout TCPInfo) -> Void = { _, _ in }
    ) -> SocketReport {
        self.report(remotePort: 0) { report, info in
            report.sendQueue = 3
            info.unsentBytes = 2
            if isEstablished { (info.shortestRoundTrip, info.sendWindow) = (20, 65_536) }
            change(&report, &info)
        }
    }

    private static func connect(
        _ outcome: ConnectionOutcome, _ certainty: ConnectionEnding.Certainty
    ) -> ConnectionEnding? {
        ConnectionEnding(
            outcome: outcome, direction: .outgoing, certainty: certainty, wasEstablished: false)
    }

    private static func end(
        _ outcome: ConnectionOutcome, _ certainty: ConnectionEnding.Certainty,
        _ direction: ConnectionDirection = .outgoing
    ) -> ConnectionEnding? {
        ConnectionEnding(
            outcome: outcome, direction: direction, certainty: certainty, wasEstablished: true)
    }

    private static func check(_ row: Row) {
        #expect(OutcomeClassifier.classify(row.report, row.context) == row.ending)
    }

    private static let noRemoteRows: [Row] = [
        Row("1: no port of its own", report(localPort: 0, remote: 0, remotePort: 0), nil),
        Row("2: a port of its own", report(localPort: 80, remote: 0, remotePort: 0), nil),
        Row(
            "2: a port of its own, whatever else is set",
            report(localPort: 80, remote: 0, remotePort: 0) { $1.retransmits = 3 }, nil),
    ]

    @Test("A socket without a remote address is no connection", arguments: noRemoteRows)
    func noRemote(_ row: Row) { Self.check(row) }

    private static let connectRows: [Row] = [
        Row("3: a segment came", report { $1.receivedSegments = 1 }, connect(.refused, .sure)),
        Row(
            "3 before 5: a segment came for a SYN that was sent again",
            report { ($1.receivedSegments, $1.retransmits, $1.retransmittedSegments) = (1, 2, 2) },
            connect(.refused, .sure)),
        Row("4: timeouts, and nothing left", report { $1.retransmits = 3 }, connect(.notSent, .sure)),
        Row(
            "5: timeouts, and sent again",
            report { ($1.retransmits, $1.retransmittedSegments) = (3, 3) }, connect(.noAnswer, .sure)),
        Row(
            "5: torn, timeouts", torn(isEstablished: false) { $1.retransmits = 3 }, connect(.noAnswer, .sure)),
        Row(
            "5: torn, timeouts, and a list showed that nothing left",
            torn(isEstablished: false) { $1.retransmits = 3 }, connect(.notSent, .sure)
        ) { $0.wasNeverSent = true },
        Row("6: torn without a timeout", torn(isEstablished: false), connect(.refused, .likely)),
        Row("7: no sign of anything", report(), connect(.abandoned, .likely)),
        Row(
            "an own port at which somebody listens makes no connect an accept", report(),
            connect(.abandoned, .likely)
        ) { $0.isOwnPortListening = true },
    ]

    @Test("A connect that was never answered with more than a reset", arguments: connectRows)
    func connect(_ row: Row) { Self.check(row) }

    private static let signRows: [Row] = [
        Row("acknowledged bytes", report { $1.acknowledgedBytes = 1 }, end(.reset, .likely)),
        Row("delivered segments", report { $1.deliveredSegments = 1 }, end(.reset, .likely, .incoming)),
        Row("a round trip", report { $1.shortestRoundTrip = 0 }, end(.reset, .likely, .incoming)),
        Row("a window", report { $1.sendWindow = 1 }, end(.reset, .likely, .incoming)),
        Row("a list that saw it, though the kernel has forgotten", torn(isEstablished: false), end(.aborted, .sure)) {
            $0.wasEstablished = true
        },
    ]

    @Test("One sign of the peer is enough for an established connection", arguments: signRows)
    func signs(_ row: Row) { Self.check(row) }

    private static let endRows: [Row] = [
        Row("8: torn", torn(isEstablished: true), end(.aborted, .sure)),
        Row(
            "8 before 10 and 11: torn after timeouts and probes",
            torn(isEstablished: true) { ($1.retransmits, $1.probes) = (2, 2) }, end(.aborted, .sure)),
        Row("9: the FIN is acknowledged", established(controls: 2), end(.closed, .sure)),
        Row(
            "9: the FIN of an accepted one is acknowledged", established(controls: 1),
            end(.closed, .sure, .incoming)
        ) { $0.isOwnPortListening = true },
        Row(
            "9: retransmitted bytes are not counted twice",
            established(controls: 2) { ($1.sentBytes, $1.retransmittedBytes) = (130, 30) }, end(.closed, .sure)),
        Row(
            "9 before 10, 11 and 12: the FIN was acknowledged in the end",
            established(controls: 2) { ($1.retransmits, $1.probes, $0.receiveQueue) = (2, 2, 9) },
            end(.closed, .sure)),
        Row(
            "10: data is not acknowledged after a timeout",
            established(controls: 1) { ($0.sendQueue, $1.retransmits, $1.sentBytes) = (50, 1, 150) },
            end(.lost, .sure)),
        Row(
            "10: the FIN is not acknowledged after a timeout",
            established(controls: 1) { ($0.sendQueue, $1.retransmits) = (1, 1) }, end(.lost, .sure)),
        Row(
            "10: of an accepted one",
            established(controls: 0) { ($0.sendQueue, $1.retransmits, $1.sentBytes) = (50, 1, 150) },
            end(.lost, .sure, .incoming)),
        Row(
            "a timeout that was answered before a reset",
            established(controls: 1) { $1.retransmits = 1 }, end(.reset, .likely)),
        Row("11: probes without an answer", established(controls: 1) { $1.probes = 1 }, end(.lost, .likely)),
        Row(
            "11: probes of a window",
            established(controls: 1) { ($1.probes, $0.sendQueue, $1.unsentBytes) = (2, 9000, 9000) },
            end(.lost, .likely)),
        Row(
            "12: two unread bytes", established(controls: 1) { report, _ in report.receiveQueue = 2 },
            end(.aborted, .likely)),
        Row(
            "12: unread bytes, and the kernel counted a reset by that",
            established(controls: 1) { report, _ in report.receiveQueue = 2 }, end(.aborted, .likely)
        ) { $0.isAbortedOnClose = true },
        Row(
            "13: unread bytes, and the kernel counted no reset by that",
            established(controls: 1) { report, _ in report.receiveQueue = 2 }, end(.reset, .likely)
        ) { $0.isAbortedOnClose = false },
        Row(
            "12: one unread byte of data",
            established(controls: 1) { ($0.receiveQueue, $1.receivedDataSegments) = (1, 1) }, end(.aborted, .likely)),
        Row(
            "12: of an accepted one",
            established(controls: 0) { ($0.receiveQueue, $1.receivedDataSegments) = (1, 1) },
            end(.aborted, .likely, .incoming)),
        Row(
            "12: one unread byte, and the kernel counted a reset by that while data was under way",
            established(controls: 1) {
                ($0.receiveQueue, $1.receivedDataSegments, $0.sendQueue, $1.sentBytes) = (1, 1, 50, 150)
            }, end(.aborted, .likely)
        ) { $0.isAbortedOnClose = true },
        Row(
            "13: one unread byte of data, and the kernel counted no reset by that",
            established(controls: 1) { ($0.receiveQueue, $1.receivedDataSegments) = (1, 1) }, end(.reset, .likely)
        ) { $0.isAbortedOnClose = false },
        Row(
            "13: the one unread byte is a FIN, whatever the kernel counted",
            established(controls: 1) { report, _ in report.receiveQueue = 1 }, end(.reset, .likely)
        ) { $0.isAbortedOnClose = true },
        Row(
            "13: the one unread byte is a FIN", established(controls: 1) { report, _ in report.receiveQueue = 1 },
            end(.reset, .likely)),
        Row(
            "13: unread bytes, and data under way",
            established(controls: 1) { ($0.receiveQueue, $0.sendQueue, $1.sentBytes) = (9, 50, 150) },
            end(.reset, .likely)),
        Row("13: nothing else", established(controls: 1), end(.reset, .likely)),
        Row("13: of an accepted one", established(controls: 0), end(.reset, .likely, .incoming)),
    ]

    @Test("The end of an established connection", arguments: endRows)
    func end(_ row: Row) { Self.check(row) }

    private static let directionRows: [Row] = [
        Row("two: this side, though it listens there", established(controls: 2), end(.closed, .sure)) {
            $0.isOwnPortListening = true
        },
        Row("none: the peer, though nobody listens", established(controls: 0), end(.reset, .likely, .incoming)),
        Row("one: nobody listens", established(controls: 1), end(.reset, .likely)),
        Row("one: somebody listens", established(controls: 1), end(.closed, .sure, .incoming)) {
            $0.isOwnPortListening = true
        },
        Row("torn: somebody listens", torn(isEstablished: true), end(.aborted, .sure, .incoming)) {
            $0.isOwnPortListening = true
        },
    ]

    @Test(
        "Sequence numbers tell which side opened a connection, and otherwise the listening port does",
        arguments: directionRows)
    func direction(_ row: Row) { Self.check(row) }

    @Test("Numbers that no kernel sends decide something, and trap nowhere")
    func nonsense() {
        let report = Self.report { report, info in
            (report.sendQueue, report.receiveQueue) = (.max, .max)
            (info.acknowledgedBytes, info.sentBytes, info.retransmittedBytes) = (.max, 0, .max)
            info.unsentBytes = 0
        }
        guard let ending = OutcomeClassifier.classify(report) else {
            Issue.record("no connection")
            return
        }
        #expect(ending.wasEstablished)
    }
}

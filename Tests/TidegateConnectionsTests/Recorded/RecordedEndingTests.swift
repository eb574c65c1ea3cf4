import Testing
import TidegateCore
@testable import TidegateNetwork

@testable import TidegateConnections

/// What the kernel really says of every kind of ending, from its bytes to the outcome.
struct RecordedEndingTests {
    /// What is known besides the message.
    enum Known { case nothing, listens, neverSent, counted, notCounted }

    /// A recorded message, its telling numbers, and what it means.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Unread bytes, the send queue, timeouts, retransmitted segments, probes, segments sent and received,
        /// acknowledged bytes, and the SYN and FIN among them.
        let numbers: [UInt64]
        let ending: ConnectionEnding?
        let context: OutcomeClassifier.Context

        init(_ name: String, _ numbers: [UInt64], _ ending: ConnectionEnding?, _ known: Known = .nothing) {
            var context = OutcomeClassifier.Context()
            switch known {
            case .nothing: break
            case .listens: context.isOwnPortListening = true
            case .neverSent: context.wasNeverSent = true
            case .counted: context.isAbortedOnClose = true
            case .notCounted: context.isAbortedOnClose = false
            }
            (self.testDescription, self.numbers, self.ending, self.context) = (name, numbers, ending, context)
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

    // MARK: The recorded messages

    private static let ends: [Row] = [
        Row("client closes first", [1, 0, 0, 0, 0, 6, 4, 102, 2], end(.closed, .sure)),
        Row("client closes first (peer)", [0, 0, 0, 0, 0, 3, 6, 1001, 1], end(.closed, .sure, .incoming), .listens),
        Row("server closes first", [0, 0, 0, 0, 0, 5, 5, 102, 2], end(.closed, .sure)),
        Row("server closes first (peer)", [1, 0, 0, 0, 0, 4, 5, 1001, 1], end(.closed, .sure, .incoming), .listens),
        Row("EOF is not read", [1, 0, 0, 0, 0, 6, 5, 102, 2], end(.closed, .sure)),
        Row("EOF is not read (peer)", [0, 0, 0, 0, 0, 3, 5, 11, 1], end(.closed, .sure, .incoming), .listens),
        Row("close with unsent data", [0, 0, 0, 0, 0, 439, 77, 632642, 2], end(.closed, .sure)),
        Row("close with unsent data (peer)", [0, 0, 0, 0, 0, 77, 440, 1, 1], end(.closed, .sure, .incoming), .listens),
        Row("process is killed", [1, 0, 0, 0, 0, 5, 3, 52, 2], end(.closed, .sure)),
        Row("process is killed (peer)", [0, 0, 0, 0, 0, 2, 5, 1, 1], end(.closed, .sure, .incoming), .listens),
        Row("process is killed with unread data", [700, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely)),
        Row(
            "process is killed with unread data (peer)", [0, 0, 0, 0, 0, 2, 5, 700, 0], end(.reset, .likely, .incoming)),
        Row("half close", [0, 0, 0, 0, 0, 6, 4, 52, 2], end(.closed, .sure)),
        Row("half close (peer)", [0, 0, 0, 0, 0, 3, 6, 701, 1], end(.closed, .sure, .incoming), .listens),
        Row("simultaneous close", [1, 0, 0, 1, 0, 6, 4, 52, 2], end(.closed, .sure)),
        Row("simultaneous close (peer)", [1, 0, 0, 1, 0, 4, 5, 1, 1], end(.closed, .sure, .incoming), .listens),
        Row("TCP Fast Open", [1, 0, 0, 0, 0, 5, 3, 202, 2], end(.closed, .sure)),
        Row("TCP Fast Open (peer)", [0, 0, 0, 0, 0, 2, 5, 11, 1], end(.closed, .sure, .incoming), .listens),
        Row("SO_LINGER 0", [0, 75778, 0, 0, 0, 0, 0, 0, 0], end(.aborted, .sure)),
        Row("SO_LINGER 0 (peer)", [0, 0, 0, 0, 0, 2, 8, 2, 0], end(.reset, .likely, .incoming)),
        Row("close with unread data", [700, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely)),
        Row("close with unread data (peer)", [0, 0, 0, 0, 0, 2, 5, 700, 0], end(.reset, .likely, .incoming)),
        Row("reset while idle", [0, 0, 0, 0, 0, 3, 3, 51, 1], end(.reset, .likely)),
        Row("reset while idle (peer)", [0, 64514, 0, 0, 0, 0, 0, 0, 0], end(.aborted, .sure, .incoming), .listens),
        Row("reset with data under way", [0, 300, 0, 0, 0, 4, 3, 51, 1], end(.reset, .likely)),
        Row("write after the peer has closed", [1, 300, 0, 0, 0, 5, 4, 51, 1], end(.reset, .likely)),
        Row("path is cut, TCP_USER_TIMEOUT", [0, 300, 3, 4, 0, 8, 2, 51, 1], end(.lost, .sure)),
        Row("path is cut, ETIMEDOUT", [0, 300, 4, 5, 0, 9, 2, 51, 1], end(.lost, .sure)),
        Row("keepalive has no answer", [0, 0, 0, 0, 2, 6, 2, 51, 1], end(.lost, .likely)),
        Row("window is shut, then path is cut", [0, 69368, 0, 1, 2, 10, 5, 5793, 1], end(.lost, .likely)),
        Row("window stays shut until TCP_USER_TIMEOUT", [0, 69368, 0, 1, 0, 10, 6, 5793, 1], end(.reset, .likely)),
        Row("path is cut, program closes", [0, 301, 3, 4, 0, 9, 2, 51, 2], end(.lost, .sure)),
        Row("accept queue is dropped", [0, 64514, 0, 0, 0, 0, 0, 0, 0], end(.aborted, .sure, .incoming), .listens),
        Row("accept queue is dropped (peer)", [0, 0, 0, 0, 0, 2, 2, 1, 1], end(.reset, .likely)),
        Row("SYN cookies", [1, 0, 0, 0, 0, 6, 4, 102, 2], end(.closed, .sure)),
        Row("SYN cookies (peer)", [0, 0, 0, 0, 0, 3, 6, 1001, 1], end(.closed, .sure, .incoming), .listens),
        Row("socket is connected again", [1, 0, 0, 0, 0, 5, 3, 22, 2], end(.closed, .sure)),
        Row("MPTCP", [1, 0, 0, 0, 0, 8, 6, 52, 2], end(.closed, .sure)),
        Row("MPTCP (peer)", [0, 64514, 0, 0, 0, 0, 0, 0, 0], end(.aborted, .sure, .incoming), .listens),
        Row("IPv4 over an IPv6 socket", [1, 0, 0, 0, 0, 5, 3, 102, 2], end(.closed, .sure)),
        Row("IPv4 over an IPv6 socket (peer)", [0, 0, 0, 0, 0, 2, 5, 1, 1], end(.closed, .sure, .incoming), .listens),
        Row("IPv6", [1, 0, 0, 0, 0, 5, 3, 102, 2], end(.closed, .sure)),
        Row("IPv6 (peer)", [0, 0, 0, 0, 0, 2, 5, 1, 1], end(.closed, .sure, .incoming), .listens),
        Row("link-local", [1, 0, 0, 0, 0, 5, 3, 12, 2], end(.closed, .sure)),
    ]

    // Of a connection with something unread the kernel's count of a second says which side reset it.
    private static let unread: [Row] = [
        Row("close with one unread byte", [1, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely), .counted),
        Row("close with two unread bytes", [2, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely), .counted),
        Row("close with three unread bytes", [3, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely), .counted),
        Row("close with one unread byte and a FIN", [2, 0, 0, 0, 0, 6, 4, 51, 1], end(.aborted, .likely), .counted),
        Row("close with two unread bytes and a FIN", [3, 0, 0, 0, 0, 6, 4, 51, 1], end(.aborted, .likely), .counted),
        Row("reset with one unread byte", [1, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely), .notCounted),
        Row("reset with two unread bytes", [2, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely), .notCounted),
        Row("reset after data and a FIN", [1, 0, 0, 0, 0, 5, 5, 51, 1], end(.reset, .likely), .notCounted),
        Row("reset with one unread byte and a FIN", [2, 0, 0, 0, 0, 5, 5, 51, 1], end(.reset, .likely), .notCounted),
        Row(
            "close with one unread byte, remote window shut", [1, 97016, 0, 0, 0, 16, 4, 14531, 1],
            end(.aborted, .likely), .counted),
        Row(
            "reset with one unread byte, remote window shut", [1, 97016, 0, 0, 0, 15, 5, 14531, 1],
            end(.reset, .likely), .notCounted),
        Row(
            "close of an accepted one with one unread byte", [1, 0, 0, 0, 0, 3, 4, 50, 0],
            end(.aborted, .likely, .incoming), .counted),
        Row(
            "reset of an accepted one with one unread byte", [1, 0, 0, 0, 0, 2, 5, 50, 0],
            end(.reset, .likely, .incoming), .notCounted),
        Row(
            "close with one unread byte over an IPv6 socket", [1, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely),
            .counted),
        Row(
            "reset with one unread byte over an IPv6 socket", [1, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely),
            .notCounted),
        Row("close with one unread byte over IPv6", [1, 0, 0, 0, 0, 5, 3, 51, 1], end(.aborted, .likely), .counted),
        Row("reset with one unread byte over IPv6", [1, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely), .notCounted),
        // Nothing but the FIN is unread: this host cannot have reset it for that, whatever the kernel has counted.
        Row("reset after a FIN alone", [1, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely), .counted),
        Row(
            "reset of an accepted one after a FIN alone", [1, 0, 0, 0, 0, 2, 5, 50, 0],
            end(.reset, .likely, .incoming), .counted),
        Row("reset after a FIN alone over IPv6", [1, 0, 0, 0, 0, 4, 4, 51, 1], end(.reset, .likely), .counted),
    ]

    private static let connects: [Row] = [
        Row("connect refused", [0, 1, 0, 0, 0, 1, 1, 0, 1], connect(.refused, .sure)),
        Row("connect refused over IPv6", [0, 1, 0, 0, 0, 1, 1, 0, 1], connect(.refused, .sure)),
        Row("blocking connect refused", [0, 3, 0, 0, 0, 0, 0, 0, 1], connect(.refused, .likely)),
        Row("blocking connect refused, bound", [0, 3, 0, 0, 0, 0, 0, 0, 1], connect(.refused, .likely)),
        Row("no answer", [0, 1, 5, 5, 0, 6, 0, 0, 1], connect(.noAnswer, .sure)),
        Row("blocking connect without an answer", [0, 3, 5, 0, 0, 0, 0, 0, 1], connect(.noAnswer, .sure)),
        Row("given up after 2.5 s", [0, 1, 2, 2, 0, 3, 0, 0, 1], connect(.noAnswer, .sure)),
        Row("given up at once", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("ICMP unreachable at once", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("ICMP host unreachable, late", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("ICMP net unreachable, late", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("ICMP port unreachable, late", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("ICMP admin unreachable, late", [0, 1, 0, 0, 0, 1, 0, 0, 1], connect(.abandoned, .likely)),
        Row("blocking connect, ICMP unreachable", [0, 3, 0, 0, 0, 0, 0, 0, 1], connect(.refused, .likely)),
        Row("neighbour unresolved", [0, 1, 3, 0, 0, 1, 0, 0, 1], connect(.notSent, .sure)),
        Row(
            "blocking connect, neighbour unresolved", [0, 3, 3, 0, 0, 0, 0, 0, 1], connect(.notSent, .sure), .neverSent),
        Row("neighbour unresolved over IPv6", [0, 1, 3, 0, 0, 1, 0, 0, 1], connect(.notSent, .sure)),
        Row("no route", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
        Row("never connected or bound", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
        Row("bound", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
        Row("bound to an address", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
        Row("listener", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
        Row("listener of both families", [0, 0, 0, 0, 0, 0, 0, 0, 0], nil),
    ]

    private static func numbers(_ report: SocketReport) throws -> [UInt64] {
        let info = try #require(report.tcp)
        return [
            UInt64(report.receiveQueue), UInt64(report.sendQueue), UInt64(info.retransmits),
            UInt64(info.retransmittedSegments), UInt64(info.probes), UInt64(info.sentSegments),
            UInt64(info.receivedSegments), info.acknowledgedBytes, UInt64(SegmentCount(report).controlBytes),
        ]
    }

    @Test("A recorded ending has its numbers and its outcome", arguments: ends + unread + connects)
    func ending(_ row: Row) throws {
        let report = try RecordedEndings.report(row.testDescription)
        #expect(report.state == .close)
        #expect(report.protocolNumber == 6)
        #expect(report.cookie != 0)
        #expect(report.user == nil && report.inode == 0, "no kernel says who created it")
        #expect(try Self.numbers(report) == row.numbers)
        #expect(OutcomeClassifier.classify(report, row.context) == row.ending)
    }

    @Test("Kernels with a shorter tcp_info say the same", arguments: [232, 240, 248])
    func older(_ length: Int) throws {
        let messages = try RecordedEndings.read()
        for row in Self.ends + Self.unread + Self.connects {
            let message = try #require(messages[row.testDescription])
            let shorter = try #require(RecordedEndings.shortened(message, to: length))
            #expect(shorter.count == 100 + length)
            let report = try RecordedEndings.report(shorter)
            #expect(OutcomeClassifier.classify(report, row.context) == row.ending, "\(row.testDescription)")
        }
    }

    @Test("Every recorded message is tested")
    func complete() throws {
        let rows =
            (Self.ends + Self.unread + Self.connects).map(\.testDescription) + ["UDP connected", "UDP not connected"]
        #expect(Set(rows) == Set(try RecordedEndings.read().keys))
        #expect(Set(rows).count == rows.count)
    }

    @Test("UDP connections show nothing but their addresses")
    func udp() throws {
        let connected = try RecordedEndings.report("UDP connected")
        #expect(connected.protocolNumber == 17)
        #expect(connected.tcp == nil)
        #expect(connected.remote == .init(address: try #require(IPAddress("198.51.100.2")), port: 53))
        #expect(try RecordedEndings.report("UDP not connected").remote.address.isUnspecified)
    }

    @Test("Without a list that showed it, a torn connect whose neighbour was not found seems to have no answer")
    func withoutList() throws {
        let unresolved = try RecordedEndings.report("blocking connect, neighbour unresolved")
        #expect(OutcomeClassifier.classify(unresolved) == Self.connect(.noAnswer, .sure))
    }

    @Test("Without the count a byte of data that was not read is taken for this host's reset")
    func uncounted() throws {
        for name in ["close with one unread byte", "reset with one unread byte", "reset after data and a FIN"] {
            let report = try RecordedEndings.report(name)
            #expect(OutcomeClassifier.classify(report) == Self.end(.aborted, .likely), "\(name)")
        }
        let alone = try RecordedEndings.report("reset after a FIN alone")
        #expect(OutcomeClassifier.classify(alone) == Self.end(.reset, .likely))
    }

    @Test("The addresses that the kernel has not forgotten are there")
    func addresses() throws {
        let far = try #require(IPAddress("198.51.100.2"))
        let whole = try RecordedEndings.report("client closes first")
        #expect(whole.local.address == IPAddress("10.0.0.2"))
        #expect(whole.remote.address == far && whole.remote.port != 0)
        let torn = try RecordedEndings.report("SO_LINGER 0")
        #expect(torn.local.address.isUnspecified && torn.local.port != 0)
        #expect(torn.remote == .init(address: far, port: 0))
        #expect(try RecordedEndings.report("blocking connect refused, bound").local.address == IPAddress("10.0.0.2"))
        #expect(try RecordedEndings.report("IPv4 over an IPv6 socket").remote.address == far)
        #expect(try RecordedEndings.report("IPv6").remote.address == IPAddress("2001:db8:2::2"))
        let linkLocal = try RecordedEndings.report("link-local")
        #expect(linkLocal.remote.address.isLinkLocal && linkLocal.remote.address.zone == 77)
    }

    @Test("A recorded message that is cut anywhere is malformed")
    func cut() throws {
        for (name, message) in try RecordedEndings.read() {
            for length in 1..<message.count {
                #expect(SocketMessageDecoder.decode(Array(message[..<length])) == [.malformed], "\(name) \(length)")
            }
        }
    }
}

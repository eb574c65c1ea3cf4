import Logging
import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon

/// The log's lines about other programs' connections, as an operator reads them.
@Suite struct ConnectionLogTests {
    private static let stall = ConnectionEvent.Stall(
        ConnectionSamples.api, .unanswered, age: .milliseconds(1200), retransmits: 2, nextTry: .milliseconds(800),
        party: .theirs)

    private static let lines: [(ConnectionEvent, String)] = [
        (
            .stalled(Self.stall),
            "level=warning msg=\"connections of other programs hang\" age=1.2s next_try=800ms party=\"the server\" "
                + "remote=198.51.100.2:443 sent_again=2 why=\"no answer to what was sent\""
        ),
        (
            .recovered(ConnectionSamples.api),
            "level=info msg=\"connections of other programs go on\" remote=198.51.100.2:443"
        ),
        (
            .failed(.init(ConnectionSamples.refusing, .refused, party: .theirs, count: 7)),
            "level=warning msg=\"connections of other programs failed\" count=7 outcome=refused party=\"the server\" "
                + "remote=10.0.9.9:?"
        ),
        (
            .failed(.init(ConnectionSamples.peer, .lost, party: .upstream, count: 1)),
            "level=warning msg=\"connections of other programs failed\" count=1 outcome=lost party=\"your provider\" "
                + "remote=\"10.0.4.20 to port 8080\""
        ),
        (
            .groupSilent(gateway: IPAddress("10.0.0.1"), interface: "eth0", remotes: 3),
            "level=warning msg=\"nothing behind a gateway answers other programs\" gateway=10.0.0.1 interface=eth0 "
                + "remotes=3"
        ),
        (
            .modeChanged(from: .off, to: .event, reason: nil),
            "level=info msg=\"connections of other programs are observed\" by=\"messages and lists\""
        ),
        (
            .modeChanged(from: .event, to: .counters, reason: "opening a netlink socket: Protocol mismatch"),
            "level=warning msg=\"connections of other programs are observed only in part\" by=\"counters only\" "
                + "reason=\"opening a netlink socket: Protocol mismatch\""
        ),
        (
            .modeChanged(from: .event, to: .off, reason: nil),
            "level=info msg=\"connections of other programs are not observed\""
        ),
        (
            .dropped(count: 834),
            "level=debug msg=\"the kernel dropped messages about connections\" count=834"
        ),
    ]

    @Test(
        "Each line names the remote, what is wrong and whose failure it is, in the words of the page", arguments: lines)
    func line(_ payload: ConnectionEvent, _ line: String) throws {
        let event = Event(
            sequence: 1, time: ManualTime().wall(), moment: ManualTime().monotonic(), payload: .connection(payload))
        let record = try #require(EventRecord(event))
        let lines = LineBox()
        let logger = Logger(label: "test") { _ in
            LineLogHandler(logLevel: .debug, format: .logfmt, time: ManualTime(), write: { lines.add($0) })
        }
        logger.log(level: record.level, "\(record.message)", metadata: record.fields)
        #expect(lines.all == ["time=2026-09-21T14:13:20.000Z \(line)\n"])
    }
}

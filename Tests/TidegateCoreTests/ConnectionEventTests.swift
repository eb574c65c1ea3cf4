import Testing
@testable import TidegateCore
import TidegateTestKit

/// What is published of connections of other programs: as JSON, as a line of the log, and as a sentence.
@Suite struct ConnectionEventTests {
    private static let stall = ConnectionEvent.Stall(
        ConnectionSamples.api, .unanswered, age: .milliseconds(1200), retransmits: 2, nextTry: .milliseconds(800),
        party: .theirs)
    private static let failure = ConnectionEvent.Failure(ConnectionSamples.refusing, .refused, party: .theirs, count: 7)
    private static let gateway = IPAddress("10.0.0.1")

    static let cases: [(ConnectionEvent, json: String, sentence: String)] = [
        (
            .stalled(Self.stall),
            #""connection.stalled","seq":7,"time":"1970-01-01T00:00:00.000Z","remote":"198.51.100.2","port":443,"#
                + #""direction":"out","kind":"unanswered","ageSeconds":1.2,"retransmits":2,"nextTrySeconds":0.8,"#
                + #""party":"theirs"}"#,
            "198.51.100.2:443: no answer to what was sent, the server"
        ),
        (
            .recovered(ConnectionSamples.api),
            #""connection.recovered","seq":7,"time":"1970-01-01T00:00:00.000Z","remote":"198.51.100.2","port":443,"#
                + #""direction":"out"}"#, "198.51.100.2:443: connections go on"
        ),
        (
            .failed(Self.failure),
            #""connection.failed","seq":7,"time":"1970-01-01T00:00:00.000Z","remote":"10.0.9.9","port":null,"#
                + #""direction":"out","outcome":"refused","party":"theirs","count":7}"#,
            "10.0.9.9:?: 7 connections failed: refused, the server"
        ),
        (
            .failed(.init(ConnectionSamples.api, .notSent, party: .mine, count: 1)),
            #""connection.failed","seq":7,"time":"1970-01-01T00:00:00.000Z","remote":"198.51.100.2","port":443,"#
                + #""direction":"out","outcome":"not_sent","party":"mine","count":1}"#,
            "198.51.100.2:443: 1 connect never left this host"
        ),
        (
            .groupSilent(gateway: Self.gateway, interface: "eth0", remotes: 3),
            #""connection.groupSilent","seq":7,"time":"1970-01-01T00:00:00.000Z","gateway":"10.0.0.1","#
                + #""interface":"eth0","remotes":3}"#, "3 remotes behind 10.0.0.1 hang, and none answers"
        ),
        (
            .modeChanged(from: .event, to: .eventsOnly, reason: "lists are refused"),
            #""observation.changed","seq":7,"time":"1970-01-01T00:00:00.000Z","from":"event","to":"events_only","#
                + #""reason":"lists are refused"}"#, "connections are observed by messages only: lists are refused"
        ),
        (
            .dropped(count: 834),
            #""observation.dropped","seq":7,"time":"1970-01-01T00:00:00.000Z","count":834}"#,
            "the kernel dropped 834 messages about connections"
        ),
    ]

    private func event(_ payload: ConnectionEvent) -> Event {
        Event(
            sequence: 7, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0),
            payload: .connection(payload))
    }

    @Test("Each event is one object, whose topic is connection", arguments: Self.cases)
    func json(_ payload: ConnectionEvent, _ json: String, _ sentence: String) {
        let event = self.event(payload)
        #expect(event.json().description == #"{"schema":1,"event":"# + json)
        #expect(event.payload.topic == .connection)
    }

    @Test("Each event is a sentence in the words of the page", arguments: Self.cases)
    func sentence(_ payload: ConnectionEvent, _ json: String, _ sentence: String) {
        #expect(self.event(payload).payload.sentence == sentence)
    }
}

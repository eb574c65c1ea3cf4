import Foundation
import Testing
@testable import TidegateCore

@testable import TidegateServer

@Suite struct EventGroupTests {
    private func html(_ state: PageState, party: FaultParty? = nil) -> String { state.view(for: party).html }

    @Test("One pulled cable is one event: the cause first, what followed from it after it")
    func cause() throws {
        let groups = EventGroup.all(of: PageState.pulledCable.record)
        let group = try #require(groups.first)
        #expect(group.cause.text == "uplink has no carrier")
        #expect(group.party == .mine)
        #expect(
            group.effects == [
                "IPv4: no path", "host: no path", "api.example.com:443: no path", "mirror.example.net:80: no path",
                "1 request lost its path",
            ])
        #expect(group.begin == PageState.ago(8))
        #expect(group.end == nil)
    }

    @Test("The recovery ends the outage instead of being an event of its own; a second outage repeats the first")
    func recovery() throws {
        let record = PageState.healthy.record
        let group = try #require(EventGroup.all(of: record).first)
        #expect(group.cause.text == "uplink has no carrier")
        #expect(group.end == PageState.ago(1964))
        #expect(EventGroup.all(of: record).count == 1)
        var flapping = HistoryRecord(from: PageState.ago(600))
        for number in 0..<3 {
            let time = PageState.ago(300 - number * 60)
            flapping.append(
                EventLine("eth0 has no carrier", at: time, rank: .link, tone: .bad, party: .mine, subject: "eth0"))
            flapping.append(
                EventLine("eth0 is usable", at: time + .seconds(5), rank: .link, tone: .good, subject: "eth0"))
        }
        let repeated = EventGroup.all(of: flapping)
        #expect(repeated.map(\.count) == [3])
        #expect(repeated[0].first == PageState.ago(300) && repeated[0].begin == PageState.ago(180))
        #expect(repeated[0].end == PageState.ago(175))
    }

    @Test("The recovery of another link does not end an outage")
    func otherLink() {
        var record = HistoryRecord(from: PageState.ago(600))
        record.append(EventLine("eth0 has no carrier", at: PageState.ago(60), rank: .link, tone: .bad, subject: "eth0"))
        record.append(EventLine("eth1 is usable", at: PageState.ago(30), rank: .link, tone: .good, subject: "eth1"))
        let groups = EventGroup.all(of: record)
        #expect(groups.map(\.cause.text) == ["eth0 has no carrier", "eth1 is usable"])
        #expect(groups.allSatisfy { $0.end == nil })
    }

    @Test("An event leads to the outage that began with it, and to no other one")
    func incident() throws {
        func incident(_ id: String, _ party: FaultParty, _ start: WallTime) -> Incident {
            Incident(
                id: id, .network, name: nil,
                Incident.Finding(party: party, cause: "uplink has no carrier", certainty: .proven), start: start)
        }
        let groups = EventGroup.all(of: PageState.pulledCable.record)
        let begin = try #require(groups.first).begin
        func html(_ incidents: Incident...) -> String {
            EventList(
                groups: groups, choice: PageChoice(), taskNames: [:], incidents: incidents, now: PageState.now
            ).html.markup
        }
        let (late, early) = (
            incident("late", .mine, begin + .seconds(3600)), incident("early", .mine, begin - .seconds(60))
        )
        let (own, other) = (incident("own", .mine, begin - .milliseconds(800)), incident("other", .upstream, begin))
        #expect(html(late, other, own, early).components(separatedBy: "href=\"/incidents/").count == 2)
        #expect(html(late, other, own, early).contains("<a href=\"/incidents/own\">outage</a>"))
        #expect(!html(late, other, early).contains("/incidents/"))
    }

    @Test("Requests that fail alike are one event with a count")
    func failures() throws {
        let groups = EventGroup.all(of: PageState.deadTarget.record)
        let group = try #require(groups.first)
        #expect(group.cause.text == "500.example: status 500")
        #expect(group.count == 10)
        #expect(group.party == .theirs)
    }

    @Test("Connections of other programs are told together, and an outage that is not over comes first")
    func connections() throws {
        var record = PageState.pulledCable.record
        let payloads = (1...30).flatMap { number -> [ConnectionEvent] in
            let address = IPAddress("198.51.100.\(number)")
            return address.map { address in
                let remote = Remote(address, port: 443, .outgoing)
                return [
                    .failed(.init(remote, .unreachable, party: .mine, count: number)),
                    .stalled(.init(remote, .unanswered, age: .seconds(3), retransmits: 2, nextTry: nil, party: .mine)),
                ]
            } ?? []
        }
        for (number, payload) in payloads.enumerated() {
            let time = PageState.ago(7) + .milliseconds(number * 10)
            let event = Event(
                sequence: 1, time: time, moment: MonotonicTime(nanoseconds: 0), payload: .connection(payload))
            record.append(EventLine(event))
        }
        let groups = EventGroup.all(of: record)
        #expect(
            groups.prefix(3).map(\.text) == [
                "uplink has no carrier", "30 remotes: connections of other programs hang",
                "30 remotes: connections of other programs failed",
            ])
        #expect(
            groups.prefix(3).map(\.count) == [1, 30, 30] && groups.prefix(3).map(\.party) == [.mine, .mine, .mine])
        let html = EventList(groups: groups, choice: PageChoice(), taskNames: [:], now: PageState.now).html.markup
        #expect(html.contains("→ 198.51.100.30:443; 198.51.100.29:443; 198.51.100.28:443; 198.51.100.27:443; 26 more"))
        // An outage that an earlier process saw begin is not one of now.
        var restarted = HistoryRecord(from: PageState.now)
        for line in record.lines + record.frequentLines { restarted.append(line) }
        #expect(EventGroup.all(of: restarted).first?.cause.subject == "198.51.100.30:443")
    }

    @Test("Good news that repeat are one event")
    func online() {
        var record = HistoryRecord(from: PageState.ago(600))
        for second in [300, 200, 100] {
            record.append(EventLine("Online.", at: PageState.ago(second), rank: .host, tone: .good))
        }
        let groups = EventGroup.all(of: record)
        #expect(groups.map(\.text) == ["Online."] && groups.map(\.count) == [3])
        #expect(groups[0].first == PageState.ago(300) && groups[0].begin == PageState.ago(100))
    }

    @Test("Very many frequent events do not displace an outage that is over")
    func flood() {
        var record = PageState.healthy.record
        for number in 0..<2000 {
            for payload: Event.Payload in [
                .daemon(.runSkipped(task: "task \(number % 25)")),
                .session(.circuitOpened(origin: "http://198.51.100.\(number % 9)", pause: .seconds(30 + number))),
            ] {
                record.append(
                    EventLine(
                        Event(
                            sequence: 1, time: PageState.ago(2000 - number), moment: MonotonicTime(nanoseconds: 0),
                            payload: payload)))
            }
        }
        #expect(record.frequentLines.count <= 300)
        #expect(
            EventGroup.all(of: record).map(\.text) == [
                "25 tasks: a run was skipped because the previous one was still active",
                "9 servers: no requests for a while after repeated failures", "uplink has no carrier",
            ])
    }

    @Test(
        "Requests to many hosts that failed by the same party are one event, to a few hosts one each",
        arguments: [3, 4])
    func hosts(_ count: Int) {
        var record = HistoryRecord(from: PageState.ago(600))
        for host in 0..<count {
            for second in [60, 50] {
                let failure = RequestSlice.Failure(
                    .upstream, subject: "host\(host)", cause: "no answer", at: PageState.ago(second - host))
                record.requests.add(failure)
            }
        }
        record.requests.add(.init(.theirs, subject: "host9", cause: "status 500", at: PageState.ago(1)))
        let texts = EventGroup.all(of: record).map { "\($0.text) ×\($0.count)" }
        let many = (0..<count).reversed().map { "host\($0): no answer ×2" }
        #expect(texts == ["host9: status 500 ×1"] + (count == 3 ? many : ["4 hosts: requests failed ×8"]))
    }

    @Test("One connection is told as it happened")
    func connection() throws {
        let address = try #require(IPAddress("198.51.100.1"))
        let remote = Remote(address, port: 443, .outgoing)
        var record = HistoryRecord(from: PageState.now)
        for payload in [ConnectionEvent.recovered(remote), .groupSilent(gateway: nil, interface: nil, remotes: 3)] {
            let event = Event(
                sequence: 1, time: PageState.now, moment: MonotonicTime(nanoseconds: 0), payload: .connection(payload))
            record.append(EventLine(event))
        }
        #expect(
            Set(EventGroup.all(of: record).map(\.text)) == [
                "198.51.100.1:443: connections go on", "3 remotes behind this host's links hang, and none answers",
            ])
    }

    @Test("More than twelve events are folded away")
    func folded() {
        var record = HistoryRecord(from: PageState.now)
        for number in 0..<30 { record.append(EventLine("event \(number)", at: PageState.ago(number))) }
        let html = EventList(
            groups: EventGroup.all(of: record), choice: PageChoice(), taskNames: [:], now: PageState.now
        ).html.markup
        let halves = html.components(separatedBy: "<details id=\"news-rest\"><summary>18 more</summary>")
        #expect(halves.map { $0.components(separatedBy: "<li").count - 1 } == [12, 18])
    }

    @Test("Events can be filtered by party, before they are limited")
    func filter() {
        let all = self.html(.deadTarget)
        #expect(all.contains("<a href=\"/#news\" aria-current=\"true\">all</a>"))
        #expect(all.contains("500.example: status 500 <span class=\"times\">×10</span>"))
        #expect(all.contains("uplink has no carrier"))
        let mine = self.html(.deadTarget, party: .mine)
        #expect(!mine.contains("500.example: status 500 <span class=\"times\">"))
        #expect(mine.contains("<a href=\"/?party=mine#news\" aria-current=\"true\">"))
        #expect(self.html(.deadTarget, party: .resolver).contains("No events of the resolver."))
    }
}

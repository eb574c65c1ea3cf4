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
                "uplink has no carrier", "connections of other programs to 30 remotes hang",
                "connections of other programs to 30 remotes failed",
            ])
        #expect(
            groups.prefix(3).map(\.count) == [1, 30, 30] && groups.prefix(3).map(\.party) == [.mine, .mine, .mine])
        let html = EventList(groups: groups, choice: PageChoice(), taskNames: [:], now: PageState.now).html.markup
        #expect(html.contains("→ 198.51.100.10:443; 198.51.100.11:443; 198.51.100.12:443; 198.51.100.13:443; 26 more"))
        // An outage that an earlier process saw begin is not one of now.
        var restarted = HistoryRecord(from: PageState.now)
        for line in record.lines { restarted.append(line) }
        #expect(EventGroup.all(of: restarted).first?.cause.rank == .connections)
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

import Testing
import TidegateCore

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
        #expect(groups.map(\.cause.text) == ["eth1 is usable", "eth0 has no carrier"])
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

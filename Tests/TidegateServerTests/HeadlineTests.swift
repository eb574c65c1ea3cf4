import Foundation
import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct HeadlineTests {
    @Test(
        "The first line says what, whose, since when, what to do and what waits",
        arguments: [
            (.healthy, "Online. 71 requests in 15 min, none failed."),
            (.unchecked, "There is a route; whether it leads anywhere is not checked."),
            (
                .pulledCable,
                "uplink has no carrier; this host; since 21:54:27 UTC (8 s); plug in its cable, or let up2 take over: "
                    + "sysctl -w net.ipv4.conf.uplink.ignore_routes_with_linkdown=1; 3 tasks wait."
            ),
            (
                .hungRouter,
                "10.77.0.1 does not answer; it did 41 s ago; your router; since 21:53:48 UTC (47 s); restart the router at "
                    + "10.77.0.1, or look at its console; 3 tasks wait."
            ),
            (
                .deadProvider,
                "nothing answers beyond 10.77.0.1; your provider; since 21:53:48 UTC (47 s); ask your provider: the router at "
                    + "10.77.0.1 answers, and nothing behind it does; 3 tasks wait."
            ),
            (
                .deadResolver,
                "10.77.0.53 does not answer; the resolver; since 21:53:48 UTC (47 s); name another one in "
                    + "/etc/resolv.conf, or start the one at 10.77.0.53; 3 tasks wait."
            ),
            (
                .deadTarget,
                "Online. 1 of 2 targets is not reached: mirror (the connection was refused, the server). "
                    + "10 of 71 requests failed in 15 min, all the server: 500.example."
            ),
            (.manyTasks, "The internet answers. 71 requests in 15 min, none failed."),
        ] as [(PageState, String)])
    func text(_ state: PageState, _ text: String) { #expect(state.view.headline.text == text) }

    @Test("Colour is for what was measured: a route alone has none")
    func tones() {
        let tones = PageState.allCases.map(\.view.headline.tone)
        #expect(tones == [.good, .plain, .bad, .bad, .bad, .bad, .wait, .good])
    }

    @Test(
        "A dead provider looks the same whether internet checks have lowered the level or not",
        arguments: [true, false])
    func checkedTone(isMeasured: Bool) {
        var status = PageState.deadProvider.status
        status.global.level = .limited
        let headline = Headline(
            status: status, diagnosis: isMeasured ? PageState.deadProvider.diagnosis : nil, tasks: TaskSample([]),
            record: HistoryRecord(from: PageState.ago(10)), targets: [], now: PageState.now)
        #expect(headline.tone == (isMeasured ? .bad : .wait))
    }

    @Test("A measurement from before the level changed, or an old one, says nothing about now")
    func stale() throws {
        let state = PageState.deadResolver
        let diagnosis = try #require(state.diagnosis)
        func headline(measured: Int, since: Int) -> String {
            var status = state.status
            status.since = PageState.ago(since)
            return PageView(
                status: status, diagnosis: .init(explanation: diagnosis.explanation, time: PageState.ago(measured)),
                tasks: TaskSample([]), record: HistoryRecord(from: PageState.ago(10)), nextRuns: [:], party: nil,
                now: PageState.now, configuration: EndpointConfiguration()
            ).headline.text
        }
        #expect(headline(measured: 2, since: 60).hasPrefix("10.77.0.53 does not answer; the resolver"))
        #expect(headline(measured: 2, since: 1).hasPrefix("There is a route"))
        #expect(headline(measured: 61, since: 90).hasPrefix("There is a route"))
    }

    @Test("Failures of several parties are told apart, the commonest first, with the hosts")
    func parties() {
        var record = HistoryRecord(from: PageState.ago(100))
        for _ in 0..<8 { record.requests.countRequest(at: PageState.now) }
        for host in ["a.example", "b.example", "b.example", "c.example"] {
            record.requests.add(.init(.theirs, subject: host, cause: "status 500", at: PageState.now))
        }
        record.requests.add(.init(.upstream, subject: "d.example", cause: "no answer in time", at: PageState.now))
        let headline = Headline(
            status: PageState.healthy.status, diagnosis: nil, tasks: TaskSample([]), record: record, targets: [],
            now: PageState.now
        )
        #expect(
            headline.text == "Online. 5 of 8 requests failed in 2 min: 4 the server (b.example, a.example and 1 more), "
                + "1 your provider (d.example).")
    }

    @Test("Almost everything failing is bad although the host is online")
    func allFail() {
        var record = HistoryRecord(from: PageState.ago(100))
        for _ in 0..<5 {
            record.requests.countRequest(at: PageState.now)
            record.requests.add(.init(.theirs, subject: "a.example", cause: "status 500", at: PageState.now))
        }
        let headline = Headline(
            status: PageState.healthy.status, diagnosis: nil, tasks: TaskSample([]), record: record, targets: [],
            now: PageState.now
        )
        #expect(headline.tone == .bad)
    }
}

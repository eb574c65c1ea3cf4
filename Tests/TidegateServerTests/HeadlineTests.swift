import Foundation
import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct HeadlineTests {
    @Test(
        "The first line is one sentence: what and whose; since when, what to do and counts follow",
        arguments: [
            (.healthy, "Online.", ["71 requests in 15 min, none failed"]),
            (.unchecked, "There is a route; nothing beyond it is checked.", []),
            (
                .pulledCable, "This host: uplink has no carrier.",
                [
                    "Since 21:54:27 UTC (8 s). Plug in its cable, or let up2 take over: "
                        + "sysctl -w net.ipv4.conf.uplink.ignore_routes_with_linkdown=1.",
                    "2 of 2 targets not reached", "1 of 71 requests failed in 15 min, this host", "3 tasks wait",
                ]
            ),
            (
                .hungRouter, "Your router 10.77.0.1 does not answer on uplink.",
                [
                    "Since 21:53:48 UTC (47 s). Restart the router at 10.77.0.1, or look at its console.",
                    "1 of 2 targets not reached",
                    "4 of 71 requests failed in 15 min, all your router: api.example.com", "3 tasks wait",
                ]
            ),
            (
                .deadProvider, "Your provider is down: 10.77.0.1 answers, nothing beyond it does.",
                [
                    "Since 21:53:48 UTC (47 s). Ask your provider: the router at 10.77.0.1 answers, and nothing behind it "
                        + "does.", "1 of 2 targets not reached",
                    "4 of 71 requests failed in 15 min, all your provider: api.example.com", "3 tasks wait",
                ]
            ),
            (
                .deadResolver, "The resolver 10.77.0.53 does not answer.",
                [
                    "Since 21:53:48 UTC (47 s). Name another one in /etc/resolv.conf, or start the one at 10.77.0.53.",
                    "1 of 2 targets not reached",
                    "3 of 71 requests failed in 15 min, all the resolver: api.example.com", "3 tasks wait",
                ]
            ),
            (
                .deadTarget, "mirror is not reached: the connection was refused (the server).",
                [
                    "Since 21:54:26 UTC (9 s).", "1 of 2 targets not reached",
                    "10 of 71 requests failed in 15 min, all the server: 500.example",
                ]
            ),
            (.manyTasks, "The internet answers.", ["71 requests in 15 min, none failed"]),
            (
                .slow, "Slow: 12 % of packets are lost beyond your router 10.0.0.1, wherever they go.",
                [
                    "Since 21:49:35 UTC (5 min). Report the figures of this measurement to the provider.",
                    "71 requests in 15 min, none failed",
                ]
            ),
        ] as [(PageState, String, [String])])
    func text(_ state: PageState, _ sentence: String, _ rest: [String]) {
        let parts = state.view.headline.html.markup.replacing(/<time.*?>|<\/time>|<span[^>]*>|<\/span>/, with: "")
            .split(separator: /<[^>]*>/).map(String.init)
        #expect(parts == [sentence] + rest)
        #expect(state.view.headline.state.sentence == sentence)
        #expect(sentence.count <= 90)
    }

    @Test(
        "The first line names the party of several targets: before them if they share it, else behind each",
        arguments: [
            ([("www", .upstream), ("db", .upstream)], "Your provider: 2 of 3 targets are not reached (www, db)."),
            ([("www", .theirs), ("db", .path)], "2 of 3 targets are not reached: www (the server), db (on the way)."),
            (
                [("www", .theirs), (String(repeating: "x", count: 60), .theirs)],
                "The server: 2 of 3 targets are not reached (www and 1 more)."
            ),
            (
                [(String(repeating: "x", count: 24), .mine)],
                "This host: \(String(repeating: "x", count: 24)) is not reached: no packet may leave by this interface."
            ),
        ] as [([(String, FaultParty)], String)])
    func parties(_ failing: [(name: String, party: FaultParty)], _ sentence: String) throws {
        let rows = try (failing + [("sound", .unknown)]).map { name, party in
            var report = TargetCheckReport(.init(.tcp))
            report.isReached = name == "sound"
            report.lastFailure = .init(
                time: PageState.now, reason: .timeout, party: party, text: "no packet may leave by this interface")
            return TargetRow(
                verdict: TargetVerdict(target: try Target("\(name):80"), verdict: Verdict(level: .routed)),
                configuredName: name, report: report, marks: [], links: [], brokenSince: nil, now: PageState.now)
        }
        let headline = Headline(
            status: PageState.healthy.status, diagnosis: nil, tasks: TaskSample([]),
            record: HistoryRecord(from: PageState.ago(10)), targets: rows, now: PageState.now)
        #expect(headline.state.sentence == sentence)
        #expect(sentence.count <= 90)
    }

    @Test("An IP version that leads nowhere is part of the first line")
    func deadFamily() {
        var diagnosis = HostDiagnosis(explanation: PageState.sound, time: PageState.ago(3))
        diagnosis.explanation.failingFamilies = [.ipv6]
        let headline = Headline(
            status: PageState.healthy.status, diagnosis: diagnosis, tasks: TaskSample([]),
            record: HistoryRecord(from: PageState.ago(10)), targets: [], now: PageState.now)
        #expect(headline.state.sentence == "Online, but IPv6 does not work.")
    }

    @Test("While a silence is checked, the line says since when, and blames no party")
    func checking() {
        var diagnosis = HostDiagnosis(explanation: PageState.sound, time: PageState.ago(60))
        (diagnosis.state, diagnosis.since) = (.checking, PageState.ago(3))
        let headline = Headline(
            status: PageState.healthy.status, diagnosis: diagnosis, tasks: TaskSample([]),
            record: HistoryRecord(from: PageState.ago(10)), targets: [], now: PageState.now)
        #expect(headline.state.sentence == "Checking since 21:54:32 UTC: something does not answer.")
        #expect(headline.state.tone == .wait)
        #expect(headline.state.since == PageState.ago(3))
    }

    @Test("Colour is for what was measured: a route alone has none")
    func tones() {
        let tones = PageState.allCases.map(\.view.headline.state.tone)
        #expect(tones == [.good, .plain, .bad, .bad, .bad, .bad, .wait, .good, .wait])
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
        #expect(headline.state.tone == (isMeasured ? .bad : .wait))
    }

    @Test("That something worked a minute ago says nothing about now")
    func stale() {
        func headline(measured: Int) -> String {
            Headline(
                status: PageState.manyTasks.status,
                diagnosis: .init(explanation: PageState.sound, time: PageState.ago(measured)), tasks: TaskSample([]),
                record: HistoryRecord(from: PageState.ago(10)), targets: [], now: PageState.now
            ).state.sentence
        }
        #expect(headline(measured: 60) == "The internet answers.")
        #expect(headline(measured: 61).hasPrefix("There is a route"))
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
        #expect(headline.state.sentence == "Online.")
        #expect(
            headline.html.markup.contains(
                "<li>5 of 8 requests failed in 2 min: 4 the server (b.example, a.example and 1 more), "
                    + "1 your provider (d.example)</li>"))
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
        #expect(headline.state.tone == .bad)
    }
}

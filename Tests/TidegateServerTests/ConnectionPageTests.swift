import Foundation
import HTTPTypes
import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// What the page and `/api/v1/connections` say of the connections of other programs.
@Suite struct ConnectionPageTests {
    private static func rows(_ report: ConnectionsReport) -> [[String: String]] {
        ConnectionRows(report: report).cells.map { cells in
            Dictionary(zip(ConnectionRows.heads, cells.map(\.markup))) { $1 }
        }
    }

    @Test("A remote that hangs: its target, how many, why, whose failure, and when the kernel tries again")
    func stalled() throws {
        let row = try #require(Self.rows(ConnectionSamples.report).first)
        #expect(row["Remote"] == "<b>api</b><span class=\"url\">198.51.100.2:443</span>")
        #expect(row["Connections"] == "3")
        #expect(
            row["Hanging"] == "<span class=\"bad\">3: no answer to what was sent</span> "
                + HTML.party(.theirs).markup + "<div class=\"note\">sent again in 1.3 s</div>")
        #expect(
            row["Round trip"] == "18 ms<div class=\"note\">9.1 % sent again</div>" && row["Answered"] == "4.2 s ago")
        #expect(row["In 5 minutes"] == "<span class=\"bad\">2 lost</span> " + HTML.party(.theirs).markup)
    }

    @Test("A remote that works has no colour, and what never was is a dash")
    func working() {
        let rows = Self.rows(ConnectionSamples.report)
        #expect(rows[1]["Round trip"] == "0.4 ms<div class=\"note\">the remote takes little at a time</div>")
        #expect(rows[2]["Round trip"] == HTML.text(nil).markup)
        #expect(rows[1]["Hanging"] == HTML.text(nil).markup && rows[1]["Answered"] == "100 ms ago")
        #expect(rows[2]["Remote"] == "<span class=\"url\">10.0.4.20 to port 8080</span>")
        #expect(rows[2]["In 5 minutes"] == "5 closed")
        #expect(rows[3]["Remote"] == "<span class=\"url\">10.0.9.9:?</span>")
        #expect(rows[3]["Connections"] == "0" && rows[3]["Answered"] == HTML.text(nil).markup)
    }

    @Test("Failures come first, by party, with those not yet attributed; successes are one line")
    func outcomes() {
        var report = ConnectionSamples.report
        #expect(
            Self.rows(report)[3]["In 5 minutes"] == "<span class=\"bad\">1 refused</span> "
                + HTML.party(.gateway).markup
                + "<br><span class=\"bad\">4 refused</span> " + HTML.party(.theirs).markup
                + "<br><span class=\"bad\">2 refused</span>")
        report.remotes[0].outcomes = [.established: 3, .lost: 2, .closed: 4]
        #expect(
            Self.rows(report)[0]["In 5 minutes"] == "<span class=\"bad\">2 lost</span> " + HTML.party(.theirs).markup
                + "<br>3 established, 4 closed")
    }

    @Test("The last five minutes are columns of ten seconds: the failures of each party, and above them what went well")
    func history() throws {
        var report = RemoteReport(ConnectionSamples.api)
        #expect(OutcomeStrip(history: report.history).html == nil)
        let history: [(age: Int, succeeded: Int, failures: [FaultParty: Int])] = [
            (290, 0, [.mine: 1]), (20, 30, [.gateway: 1, .theirs: 9]), (0, 4, [:]),
        ]
        report.history = history.map {
            var interval = RemoteReport.Interval(age: .seconds($0.age))
            (interval.succeeded, interval.failures) = ($0.succeeded, $0.failures)
            return interval
        }
        #expect(
            OutcomeStrip(history: report.history).html?.markup == """
                <svg class="strip" viewBox="0 0 150 20" preserveAspectRatio="xMinYMid" role="img" \
                aria-label="outcomes in the last five minutes"><rect class="grid" x="0" y="19" width="150" height="1"/>\
                <g><title>4 min 50 s ago: 1 failed (this host)</title>\
                <rect class="party-mine" x="0" y="17" width="4" height="3"/></g>\
                <g><title>20 s ago: 30 ok, 1 failed (your router), 9 failed (the server)</title>\
                <rect class="party-gateway" x="135" y="17" width="4" height="3"/>\
                <rect class="party-theirs" x="135" y="13" width="4" height="4"/>\
                <rect class="fine" x="135" y="0" width="4" height="13"/></g>\
                <g><title>now: 4 ok</title><rect class="fine" x="145" y="17" width="4" height="3"/></g></svg>
                """)
        let rows = Self.rows(ConnectionsReport(mode: .event, remotes: [report]))
        #expect(rows[0]["In 5 minutes"]?.hasPrefix("<svg class=\"strip\"") == true)
    }

    @Test("One failure among a thousand connections that went well is seen")
    func rareFailure() {
        var interval = RemoteReport.Interval(age: .zero)
        (interval.succeeded, interval.failures) = (1000, [.mine: 1, .theirs: 1])
        let html = OutcomeStrip(history: [interval]).html?.markup ?? ""
        #expect(html.contains("<rect class=\"party-mine\" x=\"145\" y=\"17\" width=\"4\" height=\"3\"/>"))
        #expect(html.contains("<rect class=\"party-theirs\" x=\"145\" y=\"14\" width=\"4\" height=\"3\"/>"))
        #expect(html.contains("<rect class=\"fine\" x=\"145\" y=\"0\" width=\"4\" height=\"14\"/>"))
    }

    @Test("A target's name is text, whatever stands in it")
    func escaped() {
        var report = ConnectionSamples.report
        report.remotes[0].target = "<b>"
        #expect(Self.rows(report)[0]["Remote"]?.hasPrefix("<b>&lt;b&gt;</b>") == true)
        report.mode = .poll
        report.reason = "<no>"
        #expect(ConnectionRows(report: report).caveat?.markup.contains("&lt;no&gt;") == true)
    }

    @Test("The page has a section of its own, and the first line and the ladder stay as they are")
    func section() {
        var view = PageState.healthy.view
        let before = (view.headline.html.markup, view.html)
        #expect(!before.1.contains("Other apps"))
        view.connections = ConnectionSamples.report
        #expect(view.headline.html.markup == before.0)
        #expect(
            view.html.contains(
                "Other apps’ connections <small>17 with 4 remotes, 3 hang</small></h2><div class=\"scroll\"><table>"))
        let link = "<a href=\"#connections\">Other apps</a> "
        #expect(view.html.contains("<a href=\"#work\">Tasks</a> \(link)<a href=\"#news\">Events</a>"))
        // Nothing else changes.
        let section = view.html.firstMatch(of: /<section id="connections"(?s:.)*?<\/section>\n\n?/)
        #expect(section.map { view.html.replacing($0.output, with: "").replacing(link, with: "") } == before.1)
    }

    @Test("At most fifty remotes are shown, the first ones, and the others are counted")
    func many() {
        var view = PageState.healthy.view
        var report = ConnectionSamples.report
        for number in 0..<60 {
            var remote = RemoteReport(
                Remote(IPAddress(ipv4: 0x0A01_0000 + UInt32(number)), port: 80, .outgoing))
            remote.established = 1
            report.remotes.append(remote)
        }
        view.connections = report
        #expect(ConnectionRows(report: report).cells.count == 50)
        #expect(view.html.contains("14 more are in <a href=\"/api/v1/connections\">the list</a>."))
        #expect(view.html.contains("10.1.0.45:80") && !view.html.contains("10.1.0.46:80"))
    }

    @Test("What cannot be observed is reported in a sentence")
    func caveats() {
        var view = PageState.healthy.view
        var report = ConnectionsReport(mode: .counters, reason: "lists of sockets are refused: EACCES")
        view.connections = report
        #expect(
            view.html.contains(
                "<p class=\"note\">Connections are observed by counters only: lists of sockets are refused: EACCES.</p>"
            ))
        #expect(view.html.contains("<p class=\"empty\">None are listed.</p>"))
        report = ConnectionsReport(mode: .event, dropped: 9)
        #expect(
            ConnectionRows(report: report).caveat?.markup
                == "<p class=\"note\">The kernel dropped 9 messages, so that some ends are missing.</p>")
        let nothing = ConnectionRows(report: ConnectionsReport(mode: .event))
        #expect(
            nothing.caveat == nil && nothing.summary.isEmpty
                && RowTable("", [], first: nothing.cells, none: nothing.none).html.markup
                    == "<p class=\"empty\">None.</p>"
        )
        // Switched off it is no news; that it was refused is.
        view.connections = ConnectionsReport()
        #expect(!view.html.contains("Other apps"))
        view.connections = ConnectionsReport(reason: "the kernel has no inet_diag")
        #expect(view.html.contains("observed by nothing: the kernel has no inet_diag."))
    }

    @Test("GET /api/v1/connections gives the document of the report, and an empty one where nothing is observed")
    func route() async throws {
        let fixture = Fixture()
        let off = try await fixture.respond("GET", "/api/v1/connections")
        #expect(off.status == 200 && off.handler == "connections")
        #expect(off.text == "\(ConnectionsDocument(ConnectionsReport()).json)\n")
        fixture.view.change { $0.connections = ScriptedObservation() }
        let answer = try await fixture.respond("GET", "/api/v1/connections")
        #expect(answer.headers[.contentType] == "application/json; charset=utf-8")
        #expect(answer.text == "\(ConnectionsDocument(ConnectionSamples.report).json)\n")
        #expect(try await fixture.respond("POST", "/api/v1/connections").status == 405)
    }

    @Test("The page and the metrics of an endpoint show what its monitor observes")
    func endpoint() async throws {
        let fixture = Fixture()
        fixture.view.change { $0.connections = ScriptedObservation() }
        #expect(try await fixture.respond("GET", "/").text.contains("<b>api</b>"))
        let metrics = try await fixture.respond("GET", "/metrics").text
        #expect(metrics.contains("tidegate_observed_connects_total{outcome=\"refused\"} 7\n"))
    }
}

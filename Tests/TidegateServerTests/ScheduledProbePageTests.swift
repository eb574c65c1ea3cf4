import Foundation
import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// What the page and `/api/v1/probes` say of scheduled probes.
@Suite struct ScheduledProbePageTests {
    /// A probe after runs that succeeded, failed and were inconclusive, in this order.
    static func report(
        _ results: [ProbeEvent.Result], name: String = "api", target: String = "https://u:p@api.example.com/x?key=1"
    ) -> ScheduledProbeReport {
        var report = ScheduledProbeReport(
            ScheduledProbe(name: name, module: "http_2xx", target: target, every: .seconds(15)))
        for (number, result) in results.enumerated() {
            let failure: ProbeFailure? =
                switch result {
                case .success: nil
                case .failure: ProbeFailure(reason: "status", party: .theirs, text: "the server answered <503>")
                case .inconclusive: ProbeFailure(reason: "no_path", party: .mine, text: "uplink has no carrier")
                }
            var expiry = GaugeFamily(name: "probe_ssl_earliest_cert_expiry", help: "")
            expiry.set(PageState.now.seconds + 6 * 86_400 + 60)
            let found = ProbeReport(
                module: "http_2xx", target: target, start: PageState.now, duration: .milliseconds(20), failure: failure,
                isGated: result == .inconclusive, families: result == .success ? [expiry] : [],
                log: ProbeLog(module: "http_2xx", target: target), configuration: "")
            _ = report.record(found, as: result, at: PageState.ago(60 - number))
        }
        return report
    }

    private static func row(_ report: ScheduledProbeReport) -> [String: String] {
        let row = ScheduledProbeRow(report: report, redaction: URLRedaction(), now: PageState.now)
        return Dictionary(zip(ScheduledProbeRow.heads, row.cells.map(\.markup))) { $1 }
    }

    @Test(
        "A target that answers: latency, uptime without what was not known, its last failure in the past, certificate")
    func answering() {
        let row = Self.row(Self.report([.success, .failure, .inconclusive, .success, .success]))
        #expect(row["State"] == HTML.good("answers").markup)
        let since = "<div class=\"note\">since \(HTML.time(PageState.ago(60)).markup)</div>"
        #expect(row["Uptime"] == "75.00 %\(since)<div class=\"note\">1 run left out (own outage)</div>")
        #expect(row["Latency"]?.contains("aria-label=\"the last 5 runs\"") == true)
        for (style, count) in [("hit", 3), ("miss", 1), ("skip", 1)] {
            #expect(row["Latency"]?.components(separatedBy: "class=\"\(style)\"").count == count + 1, "\(style)")
        }
        #expect(row["Last failure, and whose"]?.contains("class=\"past\"") == true)
        #expect(row["Last failure, and whose"]?.contains("the server answered &lt;503&gt;") == true)
        #expect(row["Certificate"] == HTML.wait("ends in 6 d").markup)
    }

    @Test("A target that fails, whose failure it is, and a URL without its secrets")
    func failing() {
        let row = Self.row(Self.report([.success, .failure]))
        #expect(row["State"] == HTML.bad("fails").markup)
        #expect(row["Last failure, and whose"]?.contains("class=\"past\"") == false)
        #expect(row["Last failure, and whose"]?.contains("the server") == true)
        #expect(row["Probe"]?.contains("https://api.example.com/x") == true)
        #expect(row["Probe"]?.contains("key=1") == false && row["Probe"]?.contains("u:p") == false)
    }

    @Test("Without a path on this host the state is not known, and the last known result is shown")
    func inconclusive() {
        let row = Self.row(Self.report([.success, .inconclusive]))
        #expect(row["State"]?.hasPrefix("not known: uplink has no carrier") == true)
        #expect(row["State"]?.contains("this host") == true && row["State"]?.contains("answered ") == true)
        #expect(row["Uptime"]?.hasPrefix("100 %") == true)
        #expect(Self.row(Self.report([.inconclusive]))["Uptime"] == HTML.text(nil).markup)
        #expect(Self.row(Self.report([]))["State"]?.contains("not probed yet") == true)
    }

    @Test("What failed once in very many runs is not 100 %")
    func rounding() {
        let row = Self.row(Self.report([.failure] + Array(repeating: .success, count: 29_999)))
        #expect(row["Uptime"]?.hasPrefix("99.99 %<div class=\"note\">since ") == true)
    }

    @Test("The page has a section of them with a link to it, and none without them")
    func page() {
        var view = PageState.healthy.view
        #expect(!view.html.contains("Scheduled probes") && !view.html.contains(">Probes</a>"))
        view.scheduledProbes = [Self.report([.success]), Self.report([.failure], name: "www")]
        #expect(view.html.contains("<h2 id=\"probes-title\">Scheduled probes <small>1 of 2 fail</small></h2>"))
        #expect(view.html.contains("<a href=\"#probes\">Probes</a>"))
        #expect(view.html.contains("<b>api</b>") && view.html.contains("<b>www</b>"))
    }

    @Test("The JSON has the same in numbers")
    func json() {
        let text = ProbesDocument.json(
            [Self.report([.success, .failure, .inconclusive])], redaction: URLRedaction()
        ).description
        #expect(
            text == """
                {"schema":1,"probes":[{"name":"api","module":"http_2xx","target":"https://api.example.com/x",\
                "everySeconds":15,"result":"inconclusive","answering":false,"uptime":0.5,\
                "since":"\(PageState.ago(60))",\
                "runs":{"success":1,"failure":1,"inconclusive":1,"overrun":0},\
                "lastSuccess":"\(PageState.ago(60))",\
                "lastFailure":{"time":"\(PageState.ago(59))","reason":"status","party":"theirs",\
                "text":"the server answered <503>"},\
                "inconclusive":{"time":"\(PageState.ago(58))","reason":"no_path","party":"mine",\
                "text":"uplink has no carrier"},"durationSeconds":0.02,\
                "certificateExpiry":"\(PageState.now + .seconds(6 * 86_400 + 60))","nextRun":null}]}
                """)
    }
}

import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateIncidents

/// Outages as a report shows them.
@Suite struct IncidentReportTests {
    private static let now = WallTime(microseconds: 1_790_000_000_000_000)

    private func answer(
        _ question: IncidentQuestion, _ incidents: [Incident], plans: [Coverage.Span] = []
    ) -> IncidentAnswer {
        var answer = IncidentAnswer(to: question, at: Self.now)
        let watched = Coverage.Span("s", .watched, from: Self.now - .seconds(864_000), to: Self.now)
        (answer.spans, answer.firstWatched) = ([watched] + plans, watched.start)
        for incident in incidents.sorted(by: { $0.start > $1.start }) { answer.add(incident) }
        return answer
    }

    private func report(
        _ incidents: [Incident] = SampleIncidents.all(at: Self.now), since seconds: Int64 = 864_000,
        plans: [Coverage.Span] = []
    ) -> IncidentReport {
        var question = IncidentQuestion()
        (question.since, question.until, question.wantsEvidence) = (Self.now - .seconds(seconds), Self.now, true)
        return IncidentReport(
            self.answer(question, incidents, plans: plans), from: Self.now - .seconds(seconds), to: Self.now,
            host: "host-1", version: "1.2.3"
        ) { _ in .seconds(3600) }
    }

    @Test("Nothing of a name, a cause, a note or a network becomes markup or a script")
    func injection() {
        let html = self.report(SampleIncidents.all(at: Self.now, isEvil: true)).html
        #expect(html.contains("&lt;script&gt;alert(1)"), "it is shown")
        #expect(!html.contains("<script>alert"))
    }

    @Test("A report has totals with what is proven, the availability, the method, each outage, and a letter")
    func report() {
        let html = self.report().html
        for text in [
            "Outages and slow times seen by host-1", "99.513 %", "+01:00", "16 min 40 s", "Method", "certified",
            "at the start, ipv4",
            "Covering letter", "1 incident, in total down for 1 h.",
        ] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(!html.contains("{{"))
    }

    @Test("A report of a slow time counts it apart from downtime, and claims no proof of silence")
    func slow() throws {
        var incident = try #require(SampleIncidents.all(at: Self.now).first)
        incident.kind = .degraded
        let html = self.report([incident]).html
        for text in [
            "<dt>Slow</dt><dd>1 h</dd>", "1 incident, in total slow for 1 h.", "<th scope=\"col\">Slow</th>",
            "100.000 %",
        ] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(!html.contains("silence is the evidence.") && !html.contains("down for 1 h"))
    }

    @Test("A report over a time before the first record says so")
    func before() {
        let html = self.report(since: 8_640_000).html
        #expect(html.contains("The first record is of ") && html.contains("nothing is known of the time before"))
        #expect(html.contains("Not watched") && html.contains("90 d"))
    }

    @Test("The days and hours of a report add up to its downtime")
    func sums() {
        let json = self.report().json
        func sum(_ values: [JSONValue]) -> Double {
            values.reduce(0) { sum, value in
                switch value {
                case .number(let number): sum + number
                case .integer(let number): sum + Double(number)
                default: sum
                }
            }
        }
        #expect(json["coverage"]?["downSeconds"] == .number(4200))
        #expect(sum(json["days"]?.elements.compactMap { $0["coverage"]?["downSeconds"] } ?? []) == 4200)
        #expect(sum(json["downSecondsByHour"]?.elements ?? []) == 4200)
    }

    @Test("Maintenance that was planned is left out of totals, availability, days and letter, unless it is asked for")
    func maintenance() {
        let now = Self.now
        let plan = Coverage.Span("p", .planned, from: now - .seconds(90_100), to: now - .seconds(89_000))
        let report = self.report(plans: [plan])
        #expect(report.answer.totals[.upstream] == nil && report.json["coverage"]?["plannedSeconds"] == .number(3600))
        #expect(report.json["coverage"]?["downSeconds"] == .number(600) && !report.html.contains("Covering letter"))
        var question = report.answer.question
        question.countsPlanned = true
        let counted = self.answer(question, SampleIncidents.all(at: now), plans: [plan])
        #expect(counted.totals[.upstream]?.count == 1)
        #expect(counted.coverage(from: now - .seconds(864_000), to: now).down == .seconds(4200))
        #expect(counted.incidents.map(\.note.isPlanned) == [false, false, true])
    }

    @Test("Two incidents of a party at a time are down once in the totals")
    func overlapping() {
        var question = IncidentQuestion()
        question.until = WallTime(microseconds: 100_000_000)
        var answer = IncidentAnswer(to: question, at: WallTime(microseconds: 100_000_000))
        for name in ["api", "shop"] {
            let finding = Incident.Finding(party: .theirs, cause: "refused", certainty: .proven)
            answer.add(Incident(id: name, .target, name: name, finding, start: WallTime(microseconds: 40_000_000)))
        }
        #expect(answer.totals[.theirs]?.count == 2 && answer.totals[.theirs]?.down == .seconds(60))
    }

    @Test(
        "A report fits a phone and a sheet of A4",
        .enabled(if: Browser.isInstalled, "chromium and chromedriver are not installed"), arguments: [360, 794])
    func fits(width: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).html")
        try self.report(SampleIncidents.all(at: Self.now, isEvil: true)).html.write(
            to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let browser = try await Browser.open()
        do {
            try await browser.command(
                "Emulation.setDeviceMetricsOverride",
                #"{"width":\#(width),"height":800,"deviceScaleFactor":1,"mobile":false}"#)
            try await browser.go(file.absoluteString)
            let size = try await browser.text("String(document.documentElement.scrollWidth)")
            #expect(size == "\(width)")
        } catch {
            await browser.close()
            throw error
        }
        await browser.close()
    }
}

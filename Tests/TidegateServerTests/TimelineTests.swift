import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct TimelineTests {
    private let time = ManualTime()
    private let bus: EventBus
    private let history: PageHistory

    init() {
        self.bus = EventBus(time: self.time)
        self.history = PageHistory(from: self.time.wall(), configuration: EndpointConfiguration())
        self.bus.attach(self.history)
    }

    private var svg: TimelineSVG { self.svg(now: .routed) }

    private func svg(now level: ReachabilityLevel) -> TimelineSVG {
        TimelineSVG(record: self.history.snapshot(), now: self.time.wall(), current: level)
    }

    private func fail(_ party: FaultParty?, _ failure: TaskFailure = .connectFailed) {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: self.time.wall(), using: &generator)
        let attribution = party.map { Attribution(party: $0) }
        self.bus.publish(
            .task(
                TaskEvent(
                    id: id, taskKind: .data,
                    kind: .attemptFailed(EveryEvent.attempt(1, status: nil), failure, attribution, isCharged: true))))
    }

    private func go(from: ReachabilityLevel, to: ReachabilityLevel) {
        self.bus.publish(.path(PathEvent(scope: .global, from: Verdict(level: from), to: Verdict(level: to))))
    }

    @Test("Failures are counted by party, cancelled attempts not at all")
    func failures() {
        for _ in 0..<3 { self.fail(.theirs) }
        self.fail(.mine)
        self.fail(nil)
        self.fail(.theirs, .cancelled)
        #expect(self.svg.totals.map(\.party) == [.mine, .theirs, .unknown])
        #expect(self.svg.totals.map(\.count) == [1, 3, 1])
        let html = self.svg(now: .routed).html.markup
        #expect(html.contains("<rect class=\"party-theirs\""))
        #expect(html.contains("the server</span> <b>3</b>"))
    }

    @Test("The window grows with the uptime, up to an hour; older failures are dropped")
    func window() {
        self.fail(.theirs)
        #expect(self.svg.window == .seconds(300))
        self.time.advance(by: .seconds(301))
        #expect(self.svg.window == .seconds(900))
        #expect(self.svg.totals.map(\.count) == [1])
        self.time.advance(by: .seconds(3200))
        #expect(self.svg.window == .seconds(3600))
        #expect(self.svg.totals.map(\.count) == [1])
        self.time.advance(by: .seconds(200))
        #expect(self.svg.totals.isEmpty)
        #expect(self.svg(now: .routed).html.markup.contains("no failed requests"))
    }

    @Test("The band shows how long there was no path")
    func levels() {
        self.time.advance(by: .seconds(60))
        self.go(from: .routed, to: .none)
        self.time.advance(by: .seconds(70))
        self.go(from: .none, to: .online)
        self.time.advance(by: .seconds(20))
        #expect(
            self.svg(now: .online).summary
                == "The last 5 min: no path for 1 min 10 s; no failed requests.")
        let html = self.svg(now: .online).html.markup
        let classes = html.split(separator: "\"").filter { $0.hasPrefix("level-") }
        #expect(classes == ["level-routed", "level-none", "level-online"])
    }

    @Test("A level that never changed is drawn from the start of the process")
    func still() {
        self.time.advance(by: .seconds(150))
        #expect(self.svg(now: .routed).html.markup.contains("<rect class=\"level-routed\" x=\"600.0\""))
        #expect(self.svg(now: .routed).summary == "The last 5 min: a path all the time; no failed requests.")
    }

    private func svg(_ span: TimelineSVG.Span) -> TimelineSVG {
        TimelineSVG(record: self.history.snapshot(), now: self.time.wall(), current: .routed, span: span)
    }

    @Test("A day and a week have the failures of older hours, and say how much of them was recorded")
    func spans() {
        self.fail(.theirs)
        self.go(from: .routed, to: .none)
        self.time.advance(by: .seconds(1800))
        self.go(from: .none, to: .routed)
        self.time.advance(by: .seconds(5400))
        self.fail(.mine)
        self.time.advance(by: .seconds(20))
        self.fail(.mine)
        #expect(self.svg(.hour).summary == "The last hour: a path all the time; 2 failed requests, all this host.")
        #expect(
            self.svg(.day).summary
                == "The last day, recorded for only 2 h: no path for 30 min; 3 failed requests: 2 this host, 1 the server."
        )
        self.time.advance(by: .seconds(86_400))
        self.fail(.path)
        #expect(
            self.svg(.day).summary == "The last day: a path all the time; 1 failed request, on the way.")
        #expect(
            self.svg(.week).summary.hasPrefix("The last week, recorded for only 1 d 2 h: no path for 30 min; 4 failed"))
        let html = self.svg(.week).html.markup
        #expect(html.contains(" UTC</time>") && html.components(separatedBy: ">20").count == 6, "ticks have a date")
        self.time.advance(by: .seconds(7 * 86_400 + 3600))
        self.fail(.path)
        self.fail(.path)
        self.time.advance(by: .seconds(20))
        self.fail(.path)
        #expect(self.svg(.week).totals.map(\.count) == [3], "what is older than a week is gone")
        #expect(self.history.snapshot().requests.quarters.isEmpty)
    }

    @Test("The page links to the spans, keeps the party, and ignores what it does not know")
    func choice() {
        #expect(PageChoice(target: "/?span=week&party=theirs") == PageChoice(party: .theirs, span: .week))
        #expect(PageChoice(target: "/?span=year&party=x") == PageChoice())
        let html = PageState.healthy.view(for: .theirs, span: .day).html
        for link in [
            "<a href=\"/?party=theirs#time\">hour</a>",
            "<a href=\"/?party=theirs&amp;span=day#time\" aria-current=\"true\">day</a>",
            "<a href=\"/?party=theirs&amp;span=week#time\">week</a>", "<a href=\"/?span=day#news\">all</a>",
        ] { #expect(html.contains(link), "\(link)") }
    }

    @Test("Times of which the changes were dropped are drawn as not recorded")
    func dropped() {
        for _ in 0..<300 {
            self.go(from: .routed, to: .none)
            self.time.advance(by: .seconds(1))
            self.go(from: .none, to: .routed)
            self.time.advance(by: .seconds(1))
        }
        #expect(self.svg(.hour).summary.contains("nothing recorded for 2 min 8 s"), "\(self.svg(.hour).summary)")
    }

    @Test("Of ten thousand changes a bounded number is drawn, and the latest is right")
    func flapping() {
        for _ in 0..<5000 {
            self.go(from: .routed, to: .none)
            self.time.advance(by: .milliseconds(10))
            self.go(from: .none, to: .routed)
            self.time.advance(by: .milliseconds(10))
        }
        let html = self.svg(now: .routed).html.markup
        let drawn = html.components(separatedBy: "<rect class=\"level-").count - 1
        #expect(drawn > 100 && drawn < 600)
        // 100 s of changes every 10 ms: the oldest are summed up, the last band is that of the last change.
        self.time.advance(by: .seconds(20))
        let last = self.svg(now: .none).html.markup.components(separatedBy: "<rect class=\"level-").last
        #expect(last?.hasPrefix("routed\"") == true, "\(last ?? "")")
    }
}

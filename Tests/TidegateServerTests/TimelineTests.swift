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

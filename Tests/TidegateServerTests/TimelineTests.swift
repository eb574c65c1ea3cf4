import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct TimelineTests {
    private let time = ManualTime()
    private let bus: EventBus
    private let sink: TimelineSink

    init() {
        self.bus = EventBus(time: self.time)
        self.sink = TimelineSink(from: self.time.monotonic())
        self.bus.attach(self.sink)
    }

    private var picture: TimelineSVG { self.sink.picture(at: self.time) }

    private func fail(_ party: FaultParty?, _ failure: TaskFailure = .connectFailed) {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: self.time.wall(), using: &generator)
        let attribution = party.map { Attribution(party: $0, isCertain: true) }
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
        #expect(self.picture.totals.map(\.party) == [.mine, .theirs, .unknown])
        #expect(self.picture.totals.map(\.count) == [1, 3, 1])
        let html = self.picture.html(current: .routed)
        #expect(html.contains("<rect class=\"party-theirs\""))
        #expect(html.contains("the other side <b>3</b>"))
    }

    @Test("The window grows with the process's life, up to an hour; older failures are gone")
    func window() {
        self.fail(.theirs)
        #expect(self.picture.window == .seconds(300))
        self.time.advance(by: .seconds(301))
        #expect(self.picture.window == .seconds(900))
        #expect(self.picture.totals.map(\.count) == [1])
        self.time.advance(by: .seconds(3200))
        #expect(self.picture.window == .seconds(3600))
        #expect(self.picture.totals.map(\.count) == [1])
        self.time.advance(by: .seconds(200))
        #expect(self.picture.totals.isEmpty)
        #expect(self.picture.html(current: .routed).contains("No failed requests."))
    }

    @Test("The level's band says how long there was no way out")
    func levels() {
        self.time.advance(by: .seconds(60))
        self.go(from: .routed, to: .none)
        self.time.advance(by: .seconds(70))
        self.go(from: .none, to: .online)
        self.time.advance(by: .seconds(20))
        #expect(
            self.picture.summary(current: .online)
                == "The last 5 min: without a way out for 1 min 10 s; no failed requests.")
        let html = self.picture.html(current: .online)
        let classes = html.split(separator: "\"").filter { $0.hasPrefix("level-") }
        #expect(classes == ["level-routed", "level-none", "level-online"])
    }

    @Test("A level that never changed is that of now, drawn from the process's start")
    func still() {
        self.time.advance(by: .seconds(150))
        #expect(self.picture.html(current: .routed).contains("<rect class=\"level-routed\" x=\"600.0\""))
        #expect(self.picture.summary(current: .routed) == "The last 5 min: no outage; no failed requests.")
    }

    @Test("Ten thousand changes are drawn without an end of memory, the latest right")
    func flapping() {
        for _ in 0..<5000 {
            self.go(from: .routed, to: .none)
            self.time.advance(by: .milliseconds(10))
            self.go(from: .none, to: .routed)
            self.time.advance(by: .milliseconds(10))
        }
        let html = self.picture.html(current: .routed)
        #expect(html.components(separatedBy: "<rect class=\"level-").count < 600)
    }

    @Test(
        "Durations are told in two units",
        arguments: [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3661, "1 h 1 min"),
            (90_000, "1 d 1 h"), (86_400, "1 d"), (-5, "0 s"),
        ])
    func words(_ seconds: Int, _ words: String) {
        #expect(Duration.seconds(seconds).words == words)
        #expect(Duration.milliseconds(80).words == "80 ms")
    }
}

import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct PageHistoryTests {
    private let time = ManualTime()

    private final class Kept: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { self.texts.withLock { $0 } }
        func add(_ text: String) { self.texts.withLock { $0.append(text) } }
    }

    private func history(_ kept: Kept) -> PageHistory {
        PageHistory(
            from: self.time.wall(), configuration: EndpointConfiguration(),
            storage: PageHistoryStorage(past: kept.all) { _, text in kept.add(text) })
    }

    private func fail(_ bus: EventBus, _ attribution: Attribution?, number: Int = 1) {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: self.time.wall(), using: &generator)
        bus.publish(
            .task(
                TaskEvent(
                    id: id, taskKind: .data,
                    kind: .attemptFailed(
                        EveryEvent.attempt(number, status: nil), .connectFailed, attribution, isCharged: true))))
    }

    /// A process that saw an outage of 30 seconds and three failures, and stopped a minute later.
    private func run(_ kept: Kept, isKilled: Bool = false) {
        let bus = EventBus(time: self.time)
        bus.attach(self.history(kept))
        bus.publish(.path(PathEvent(scope: .global, from: .unknown, to: EveryEvent.routed)))
        self.time.advance(by: .seconds(60))
        bus.publish(.path(PathEvent(scope: .global, from: EveryEvent.routed, to: EveryEvent.unplugged)))
        self.time.advance(by: .seconds(30))
        bus.publish(.path(PathEvent(scope: .global, from: EveryEvent.unplugged, to: EveryEvent.routed)))
        for _ in 0..<3 { self.fail(bus, Attribution(party: .theirs, isCertain: true)) }
        self.time.advance(by: .seconds(60))
        if isKilled { return }
        bus.publish(.daemon(.stopping))
    }

    @Test("A restart keeps the timeline and the events")
    func restart() {
        let kept = Kept()
        self.run(kept)
        self.time.advance(by: .seconds(10))
        let record = self.history(kept).snapshot()
        let timeline = TimelineSVG(record: record, now: self.time.wall(), current: .routed)
        #expect(
            timeline.summary
                == "The last 5 min: no path for 30 s; nothing recorded for 10 s; 3 failed requests (3 the server).")
        let groups = EventGroup.all(of: record)
        #expect(groups.contains { $0.cause.text == "No network: the link has no carrier" && $0.end != nil })
        #expect(groups.contains { $0.count == 3 && $0.party == .theirs })
        #expect(groups.contains { $0.cause.text == "stopping" })
    }

    @Test("After kill -9 nothing is claimed about the time behind the last entry")
    func kill() {
        let kept = Kept()
        self.run(kept, isKilled: true)
        let record = self.history(kept).snapshot()
        let timeline = TimelineSVG(record: record, now: self.time.wall(), current: .routed)
        #expect(timeline.summary.contains("no path for 30 s; nothing recorded for 1 min"))
    }

    @Test("Entries of another version, and rubbish, are left out")
    func unknown() {
        let kept = Kept()
        kept.add("{\"schema\":1,\"event\":\"path.changed\"}")
        kept.add("rubbish")
        self.run(kept)
        #expect(!EventGroup.all(of: self.history(kept).snapshot()).isEmpty)
    }

    @Test("A flood of failures becomes a bounded number of entries")
    func flood() {
        let kept = Kept()
        let bus = EventBus(time: self.time)
        let history = self.history(kept)
        bus.attach(history)
        for number in 0..<10_000 {
            self.fail(bus, Attribution(party: .theirs, rung: .tcp, isCertain: true, evidence: ["port \(number)"]))
            self.time.advance(by: .milliseconds(6))
        }
        let slices = history.snapshot().allSlices
        #expect(slices.count <= 6)
        #expect(slices.allSatisfy { $0.failures.count <= 25 })
        #expect(slices.reduce(0) { $0 + $1.requests } == 10_000)
        #expect(slices.flatMap(\.failures).reduce(0) { $0 + $1.count } == 10_000)
        #expect(kept.all.count <= 5)
    }

    @Test("What a failed attempt has told is not told again by its task; what ended without one is")
    func once() {
        let kept = Kept()
        let bus = EventBus(time: self.time)
        let history = self.history(kept)
        bus.attach(history)
        var generator = SystemRandomNumberGenerator()
        for attempts in [0, 3] {
            let id = TaskID(at: self.time.wall(), using: &generator)
            let result = TaskResult(
                id: id, name: "sync", kind: .data, method: "GET", url: "http://10.0.0.1/", outcome: .failure,
                attempts: attempts, failure: .gateTimeout, attribution: Attribution(party: .mine, isCertain: true),
                explanation: "timed out waiting for a path")
            bus.publish(.task(TaskEvent(id: id, taskKind: .data, kind: .completed(result))))
        }
        let groups = EventGroup.all(of: history.snapshot())
        #expect(groups.map(\.cause.text) == ["sync: timed out waiting for a path"])
        #expect(groups.map(\.count) == [1])
        #expect(history.snapshot().results["sync"]?.entries.count == 2)
    }
}

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
        for _ in 0..<3 { self.fail(bus, Attribution(party: .theirs)) }
        self.time.advance(by: .seconds(60))
        if isKilled { return }
        bus.publish(.daemon(.stopping))
    }

    @Test("That the journal cannot write is shown, and not written to the journal")
    func failingJournal() {
        let (kept, bus) = (Kept(), EventBus(time: self.time))
        let history = self.history(kept)
        bus.attach(history)
        bus.publish(.daemon(.journal(.failed(.diskFull, entries: 1))))
        #expect(EventGroup.all(of: history.snapshot()).count == 1)
        #expect(kept.all == [])
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
                == "The last 5 min: no path for 30 s; nothing recorded for 10 s; 3 failed requests, all the server.")
        let groups = EventGroup.all(of: record)
        #expect(groups.contains { $0.cause.text == "No network: the link has no carrier" && $0.end != nil })
        #expect(groups.contains { $0.count == 3 && $0.party == .theirs })
        #expect(groups.contains { $0.cause.text == "stopping" })
    }

    /// An unanswered attempt, which a diagnosis may explain later, and the end of its task.
    private func endInSilence(_ bus: EventBus, _ id: TaskID, name: String? = nil, key: String? = nil) {
        var attribution = Attribution(party: .unknown, evidence: ["no answer"])
        (attribution.cause, attribution.doubt) = (.unknown(.silence), .init(silent: .target))
        let result = TaskResult(
            id: id, name: name, key: key, kind: .data, method: "GET", url: "http://10.0.0.1/", outcome: .failure,
            attempts: 1, failure: .timedOut, attribution: attribution, explanation: "no answer in time")
        let failed = TaskEvent.Kind.attemptFailed(
            EveryEvent.attempt(1, status: nil), .timedOut, attribution, isCharged: true)
        for kind in [failed, .completed(result)] { bus.publish(.task(TaskEvent(id: id, taskKind: .data, kind: kind))) }
    }

    private func taskID() -> TaskID {
        var generator = SystemRandomNumberGenerator()
        return TaskID(at: self.time.wall(), using: &generator)
    }

    @Test(
        "A revised attempt counts for the party that it turned out to be, also in what the journal keeps",
        arguments: [0, 20])
    func revised(after seconds: Int) {
        let kept = Kept()
        let bus = EventBus(time: self.time)
        let history = self.history(kept)
        bus.attach(history)
        let (id, other) = (self.taskID(), self.taskID())
        self.endInSilence(bus, id, name: "sync")
        self.endInSilence(bus, other)
        self.time.advance(by: .seconds(seconds))
        // Closes the slice of the failures if it is over.
        bus.publish(.daemon(.configurationLoaded(isGood: true)))
        bus.publish(.session(.attributionRevised(task: id, attempt: 1, from: .unknown, to: .upstream)))
        func headline(_ record: HistoryRecord) -> String {
            Headline(
                status: PageState.healthy.status, diagnosis: nil, tasks: TaskSample([]), record: record, targets: [],
                now: self.time.wall()
            ).html.markup
        }
        let text = "<li>2 of 2 requests failed in 1 min: 1 your provider (10.0.0.1), 1 not known (10.0.0.1)</li>"
        #expect(headline(history.snapshot()).contains(text))
        #expect(history.snapshot().results["sync"]?.entries.map(\.party) == [.upstream])
        bus.publish(.session(.attributionRevised(task: other, attempt: 2, from: .unknown, to: .path)))
        #expect(headline(history.snapshot()).contains(text), "another attempt than the one that is known")
        bus.publish(.daemon(.stopping))
        let restored = self.history(kept).snapshot()
        #expect(headline(restored).contains(text))
        #expect(restored.results["sync"]?.entries.map(\.party) == [.upstream])
    }

    @Test("A response that took less than a turn of the session shows how long its phases took")
    func fast() {
        let bus = EventBus(time: self.time)
        let history = self.history(Kept())
        bus.attach(history)
        var phases = PhaseDurations()
        (phases.connect, phases.processing) = (.microseconds(13), .microseconds(30))
        for (name, duration) in [("fast", Duration.zero), ("slow", .milliseconds(80))] {
            let id = self.taskID()
            let result = TaskResult(
                id: id, name: name, key: nil, kind: .data, method: "GET", url: "http://10.0.0.1/", outcome: .success,
                bytes: 2048, attempts: 1, duration: duration, phases: phases)
            bus.publish(.task(TaskEvent(id: id, taskKind: .data, kind: .completed(result))))
        }
        let results = history.snapshot().results
        #expect(results["fast"]?.entries.map(\.text) == ["2.0 KiB in 0.043 ms"])
        #expect(results["slow"]?.entries.map(\.text) == ["2.0 KiB in 80 ms"])
    }

    @Test("The last results of a name or a key are kept over a restart, those of nameless requests are not")
    func results() {
        let kept = Kept()
        let bus = EventBus(time: self.time)
        bus.attach(self.history(kept))
        for _ in 0..<3 {
            self.endInSilence(bus, self.taskID(), name: "sync")
            self.endInSilence(bus, self.taskID(), key: "order-7")
            self.endInSilence(bus, self.taskID())
            self.time.advance(by: .seconds(1))
        }
        #expect(kept.all.filter { $0.contains("\"results\"") }.count == 1, "not one entry for each of many tasks")
        bus.publish(.daemon(.stopping))
        let restored = self.history(kept).snapshot().results
        #expect(restored.mapValues(\.entries.count) == ["sync": 3, "order-7": 3])
        let rows = TaskRows(
            tasks: TaskSample([]), results: restored, nextRuns: [:], redaction: URLRedaction(), now: self.time.wall())
        #expect(
            rows.html.markup.contains(
                "<b>order-7</b></div></td><td data-head=\"State\"><div><span class=\"bad\">failed</span></div></td>"))
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
            self.fail(bus, Attribution(party: .theirs, rung: .tcp, evidence: ["port \(number)"]))
            self.time.advance(by: .milliseconds(6))
        }
        let slices = history.snapshot().requests.slices
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
                attempts: attempts, failure: .gateTimeout, attribution: Attribution(party: .mine),
                explanation: "timed out waiting for a path")
            bus.publish(.task(TaskEvent(id: id, taskKind: .data, kind: .completed(result))))
        }
        let groups = EventGroup.all(of: history.snapshot())
        #expect(groups.map(\.cause.text) == ["sync: timed out waiting for a path"])
        #expect(groups.map(\.count) == [1])
        #expect(history.snapshot().results["sync"]?.entries.count == 2)
    }
}

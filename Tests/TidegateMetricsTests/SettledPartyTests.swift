import Testing
@testable import TidegateCore

@testable import TidegateMetrics

/// The party of a failure in silence is counted once it is settled.
@Suite struct SettledPartyTests {
    private static let build = BuildInfo(version: "1", revision: "r", swiftVersion: "6", architecture: "x")
    private static let id = TaskID("00000000-0000-4000-8000-000000000001")

    private func recorder(settles: Bool) -> MetricsRecorder {
        MetricsRecorder(
            build: Self.build, start: self.at(0), wall: WallTime(microseconds: 0), settlesParties: settles)
    }

    private func at(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: (1_000 + seconds) * 1_000_000_000)
    }

    private func fail(_ recorder: MetricsRecorder, at seconds: UInt64, _ attribution: Attribution) throws {
        let id = try #require(Self.id)
        let result = TaskResult(
            id: id, kind: .data, method: "GET", url: "http://a/", outcome: .failure, attempts: 1,
            failure: .timedOut, attribution: attribution)
        self.publish(recorder, .task(TaskEvent(id: id, taskKind: .data, kind: .completed(result))), at: seconds)
    }

    private func publish(_ recorder: MetricsRecorder, _ payload: Event.Payload, at seconds: UInt64) {
        recorder.record(
            Event(sequence: 1, time: WallTime(microseconds: 0), moment: self.at(seconds), payload: payload))
    }

    private func count(_ recorder: MetricsRecorder, _ party: FaultParty, at seconds: UInt64) -> Double? {
        let status = ReachabilityStatus(
            global: .unknown, mode: .event, families: [], links: [], targets: [], health: .init())
        return recorder.samples(of: ScrapeInputs(now: self.at(seconds), status: status)).first { sample in
            sample.name == "tidegate_task_failures_total"
                && sample.labels.contains { $0.name == "party" && $0.value == party.rawValue }
                && sample.labels.contains { $0.name == "error_type" && $0.value == "timed_out" }
        }?.value
    }

    private let silence = {
        var silence = Attribution(party: .unknown, rung: .tcp, evidence: ["no answer, and nothing says why"])
        (silence.cause, silence.doubt) = (.unknown(.silence), .init(silent: .target))
        return silence
    }()

    @Test("A revision within 30 seconds counts for the party it turned out to be")
    func revised() throws {
        let recorder = self.recorder(settles: true)
        try self.fail(recorder, at: 0, self.silence)
        #expect(self.count(recorder, .unknown, at: 1) == 0)
        let id = try #require(Self.id)
        self.publish(
            recorder, .session(.attributionRevised(task: id, attempt: 1, from: .unknown, to: .upstream)), at: 2)
        #expect(self.count(recorder, .upstream, at: 3) == 1)
        #expect(self.count(recorder, .unknown, at: 60) == 0, "once")
    }

    @Test("A revision that comes before the end of the task counts, unless the last attempt had an answer")
    func revisedBefore() throws {
        let recorder = self.recorder(settles: true)
        let revision = SessionEvent.attributionRevised(
            task: try #require(Self.id), attempt: 1, from: .unknown, to: .upstream)
        self.publish(recorder, .session(revision), at: 0)
        try self.fail(recorder, at: 1, self.silence)
        #expect(self.count(recorder, .upstream, at: 1) == 1)
        #expect(self.count(recorder, .unknown, at: 60) == 0)
        self.publish(recorder, .session(revision), at: 61)
        try self.fail(recorder, at: 62, Attribution(party: .theirs, rung: .http))
        #expect(self.count(recorder, .theirs, at: 62) == 1 && self.count(recorder, .upstream, at: 100) == 1)
        try self.fail(recorder, at: 101, self.silence)
        #expect(self.count(recorder, .unknown, at: 140) == 1, "the revision was of a task that is over")
    }

    @Test("Without a revision it counts as it was after 30 seconds, or when the daemon stops")
    func unrevised() throws {
        let recorder = self.recorder(settles: true)
        try self.fail(recorder, at: 0, self.silence)
        #expect(self.count(recorder, .unknown, at: 29) == 0)
        #expect(self.count(recorder, .unknown, at: 31) == 1)
        try self.fail(recorder, at: 40, self.silence)
        self.publish(recorder, .daemon(.stopping), at: 41)
        #expect(self.count(recorder, .unknown, at: 42) == 2)
    }

    @Test("An answered failure counts immediately, and so does every failure if parties are never revised")
    func certain() throws {
        var answered = Attribution(party: .theirs, rung: .tcp, evidence: ["refused"])
        answered.cause = .server(.refused)
        let recorder = self.recorder(settles: true)
        try self.fail(recorder, at: 0, answered)
        #expect(self.count(recorder, .theirs, at: 1) == 1)
        let plain = self.recorder(settles: false)
        try self.fail(plain, at: 0, self.silence)
        #expect(self.count(plain, .unknown, at: 1) == 1)
    }
}

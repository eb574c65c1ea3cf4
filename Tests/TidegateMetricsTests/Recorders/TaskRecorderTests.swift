import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct TaskRecorderTests {
    private let fixture = Fixture()

    @Test("Counters whose labels are known start at zero")
    func preset() {
        let series = self.fixture.series()
        #expect(series["tidegate_task_submissions_total{kind=\"upload\"}"] == 0)
        #expect(series["tidegate_task_completions_total{kind=\"data\",outcome=\"cancelled\"}"] == 0)
        #expect(series["tidegate_task_holds_total{reason=\"drain\"}"] == 0)
        #expect(series["tidegate_task_held_seconds_total{reason=\"path\"}"] == 0)
        #expect(series["tidegate_task_suspends_total{reason=\"user\"}"] == 0)
        #expect(series["tidegate_task_retries_total{reason=\"http_5xx\"}"] == 0)
        #expect(series["tidegate_task_retries_total{reason=\"connect_failed\"}"] == 0)
        #expect(series["tidegate_task_retries_exhausted_total{reason=\"not_idempotent\"}"] == 0)
        #expect(series["tidegate_bus_events_published_total{topic=\"probe\"}"] == 0)
        let failures = series.filter { $0.key.hasPrefix("tidegate_task_failures_total") }
        #expect(failures["tidegate_task_failures_total{error_type=\"connect_failed\",party=\"theirs\"}"] == 0)
        #expect(failures.values.allSatisfy { $0 == 0 })
    }

    @Test("A task's life is counted step by step")
    func life() {
        self.fixture.publish(.created(method: "GET", url: "http://10.0.0.1/"), kind: .download)
        self.fixture.publish(.resumed)
        self.fixture.publish(.suspended(.user))
        self.fixture.publish(.suspended(.shutdown))
        self.fixture.publish(.held(.concurrency, detail: nil))
        let series = self.fixture.series()
        #expect(series["tidegate_task_submissions_total{kind=\"download\"}"] == 1)
        #expect(series["tidegate_task_resumes_total"] == 1)
        #expect(series["tidegate_task_suspends_total{reason=\"user\"}"] == 1)
        #expect(series["tidegate_task_suspends_total{reason=\"shutdown\"}"] == 1)
        #expect(series["tidegate_task_holds_total{reason=\"concurrency\"}"] == 1)
        #expect(series["tidegate_bus_events_published_total{topic=\"task\"}"] == 5)
    }

    @Test("A hold's seconds are counted when it ends")
    func heldSeconds() {
        self.fixture.publish(.held(.path, detail: "no route"))
        #expect(self.fixture.series()["tidegate_task_held_seconds_total{reason=\"path\"}"] == 0)
        self.fixture.publish(.released(.path, after: .milliseconds(1500)))
        self.fixture.publish(.released(.path, after: .milliseconds(250)))
        self.fixture.publish(.released(.backoff, after: .seconds(-1)))
        let series = self.fixture.series()
        #expect(series["tidegate_task_held_seconds_total{reason=\"path\"}"] == 1.75)
        #expect(series["tidegate_task_held_seconds_total{reason=\"backoff\"}"] == 0)
    }

    private func complete(
        _ outcome: TaskOutcome, attempts: Int = 1, failure: TaskFailure? = nil, party: FaultParty? = nil,
        isRevalidated: Bool = false
    ) {
        var generator = SystemRandomNumberGenerator()
        let result = TaskResult(
            id: TaskID(at: self.fixture.time.wall(), using: &generator), kind: .data, method: "GET", url: "http://x/",
            outcome: outcome, bytes: 5000, attempts: attempts, duration: .seconds(31), failure: failure,
            attribution: party.map { Attribution(party: $0) }, isRevalidated: isRevalidated)
        self.fixture.publish(.completed(result))
    }

    @Test("A task whose stored response is still current is counted")
    func revalidations() {
        self.complete(.success)
        self.complete(.success, isRevalidated: true)
        #expect(self.fixture.series()["tidegate_task_revalidations_total"] == 1)
    }

    @Test("Only failures have a cause and a party")
    func endings() {
        self.complete(.success)
        self.complete(.cancelled, failure: .cancelled)
        self.complete(.failure, failure: .timedOut, party: .theirs)
        self.complete(.failure, failure: .gateTimeout, party: .mine)
        self.complete(.failure)
        let series = self.fixture.series()
        #expect(series["tidegate_task_completions_total{kind=\"data\",outcome=\"success\"}"] == 1)
        #expect(series["tidegate_task_completions_total{kind=\"data\",outcome=\"cancelled\"}"] == 1)
        #expect(series["tidegate_task_completions_total{kind=\"data\",outcome=\"failure\"}"] == 3)
        #expect(series["tidegate_task_failures_total{error_type=\"timed_out\",party=\"theirs\"}"] == 1)
        #expect(series["tidegate_task_failures_total{error_type=\"gate_timeout\",party=\"mine\"}"] == 1)
        #expect(series["tidegate_task_failures_total{error_type=\"internal\",party=\"unknown\"}"] == 1)
        #expect(series.count { $0.key.hasPrefix("tidegate_task_failures_total") && $0.value > 0 } == 3)
        let duration = "tidegate_task_duration_seconds"
        #expect(series["\(duration)_bucket{kind=\"data\",outcome=\"failure\",le=\"30.0\"}"] == 0)
        #expect(series["\(duration)_bucket{kind=\"data\",outcome=\"failure\",le=\"60.0\"}"] == 3)
        #expect(series["\(duration)_sum{kind=\"data\",outcome=\"failure\"}"] == 93)
    }

    @Test("A retry succeeded if a charged failure came before the success")
    func retrySuccesses() {
        self.complete(.success, attempts: 1)
        self.complete(.success, attempts: 3)
        self.complete(.failure, attempts: 3, failure: .reset)
        let series = self.fixture.series()
        #expect(series["tidegate_task_retry_successes_total"] == 1)
        #expect(series["tidegate_response_body_size_bytes_count"] == 2)
        #expect(series["tidegate_response_body_size_bytes_sum"] == 10000)
    }

    @Test("What the session counts is read at the scrape")
    func collected() {
        let series = self.fixture.series()
        #expect(series["tidegate_tasks{state=\"running\"}"] == 2)
        #expect(series["tidegate_tasks{state=\"suspended\"}"] == 0)
        #expect(series["tidegate_tasks{state=\"completed\"}"] == nil)
        #expect(series["tidegate_held_tasks{reason=\"path\"}"] == 1)
        #expect(series["tidegate_held_tasks{reason=\"disk\"}"] == 0)
        #expect(series["tidegate_stalled_tasks"] == 1)
        #expect(series["tidegate_oldest_task_start_timestamp_seconds{state=\"running\"}"] == 1_790_000_000)
        #expect(series["tidegate_oldest_task_start_timestamp_seconds{state=\"waiting\"}"] == nil)
        #expect(series["tidegate_inflight_expected_bytes{kind=\"download\"}"] == 4000)
        #expect(series["tidegate_inflight_transferred_bytes{kind=\"download\"}"] == 1000)
        #expect(series["tidegate_connections{state=\"active\"}"] == 2)
        #expect(series["tidegate_connections{state=\"idle\"}"] == 1)
    }
}

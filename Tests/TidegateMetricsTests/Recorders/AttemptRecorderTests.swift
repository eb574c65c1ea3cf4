import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct AttemptRecorderTests {
    private let fixture = Fixture()

    @Test("Every try is counted by method and code, whether charged or not")
    func attempts() {
        self.fixture.publish(.attemptSucceeded(EveryEvent.attempt(1)))
        self.fixture.publish(.attemptFailed(EveryEvent.attempt(1, status: 503), .httpStatus, nil, isCharged: true))
        self.fixture.publish(.attemptFailed(EveryEvent.attempt(1, status: nil), .reset, nil, isCharged: false))
        let series = self.fixture.series()
        #expect(series["tidegate_request_attempts_total{method=\"GET\",code=\"200\"}"] == 1)
        #expect(series["tidegate_request_attempts_total{method=\"GET\",code=\"503\"}"] == 1)
        #expect(series["tidegate_request_attempts_total{method=\"GET\",code=\"none\"}"] == 1)
        let duration = "tidegate_request_duration_seconds"
        #expect(series["\(duration)_count{method=\"GET\",code_class=\"2xx\"}"] == 1)
        #expect(series["\(duration)_bucket{method=\"GET\",code_class=\"none\",le=\"0.025\"}"] == 0)
        #expect(series["\(duration)_bucket{method=\"GET\",code_class=\"none\",le=\"0.05\"}"] == 1)
    }

    @Test("The exemplar of an attempt has its task's trace, if there is one", arguments: [true, false])
    func trace(isTraced: Bool) throws {
        let id = "0af7651916cd43dd8448eb211c80319c"
        self.fixture.publish(.attemptSucceeded(EveryEvent.attempt(1)), trace: isTraced ? TraceID(id) : nil)
        let line = try #require(
            self.fixture.text(.openMetrics).split(separator: "\n").first {
                $0.hasPrefix("tidegate_request_attempts_total{method=\"GET\",code=\"200\"}")
            })
        #expect(line.contains(",attempt=\"1\",trace_id=\"\(id)\"} ") == isTraced)
        #expect(line.contains(",attempt=\"1\"} ") == !isTraced)
    }

    @Test("A reused connection has no resolve, connect and tls")
    func phases() {
        self.fixture.publish(.attemptSucceeded(EveryEvent.attempt(1)))
        self.fixture.publish(.attemptSucceeded(EveryEvent.attempt(2, isReused: true)))
        let series = self.fixture.series()
        func count(_ phase: String) -> Double? {
            series["tidegate_request_phase_duration_seconds_count{phase=\"\(phase)\"}"]
        }
        #expect(["resolve", "connect", "tls", "processing", "transfer"].map(count) == [1, 1, 1, 2, 2])
        #expect(series["tidegate_connections_opened_total"] == 1)
        #expect(series["tidegate_connection_reuses_total"] == 1)
    }

    @Test("A refused connection is neither opened nor reused")
    func refused() {
        let summary = AttemptSummary(number: 1, method: "GET", duration: .milliseconds(1))
        self.fixture.publish(.attemptFailed(summary, .connectFailed, nil, isCharged: true))
        let series = self.fixture.series()
        #expect(series["tidegate_connections_opened_total"] == 0)
        #expect(series["tidegate_connection_reuses_total"] == 0)
    }

    @Test("Bytes grow with progress, not at the end")
    func bytes() {
        let progress = TransferProgress(receivedWire: 150)
        self.fixture.publish(.progress(progress, delta: .init(received: 100, sent: 7)), kind: .upload)
        self.fixture.publish(.progress(progress, delta: .init(received: 50, sent: -7)), kind: .upload)
        self.fixture.publish(.refetched(bytes: 12))
        self.fixture.publish(.restarted(discarded: 99))
        let series = self.fixture.series()
        #expect(series["tidegate_received_bytes_total{kind=\"upload\"}"] == 150)
        #expect(series["tidegate_sent_bytes_total{kind=\"upload\"}"] == 7)
        #expect(series["tidegate_received_bytes_total{kind=\"data\"}"] == 0)
        #expect(series["tidegate_refetched_bytes_total"] == 12)
        #expect(series["tidegate_resume_restarts_total"] == 1)
    }

    @Test("Retries are counted by cause, and their waits observed")
    func retries() {
        self.fixture.publish(.retryScheduled(.failure(.timedOut), delay: .milliseconds(400)))
        self.fixture.publish(.retryScheduled(.status(502), delay: .seconds(2)))
        self.fixture.publish(.retryScheduled(.status(429), delay: .seconds(2)))
        self.fixture.publish(.retriesExhausted(.notIdempotent))
        let series = self.fixture.series()
        #expect(series["tidegate_task_retries_total{reason=\"timed_out\"}"] == 1)
        #expect(series["tidegate_task_retries_total{reason=\"http_5xx\"}"] == 1)
        #expect(series["tidegate_task_retries_total{reason=\"http_429\"}"] == 1)
        #expect(series["tidegate_task_retries_exhausted_total{reason=\"not_idempotent\"}"] == 1)
        #expect(series["tidegate_task_retry_backoff_seconds_count"] == 3)
        #expect(series["tidegate_task_retry_backoff_seconds_sum"] == 4.4)
    }

    @Test("A new epoch is counted")
    func epochs() {
        self.fixture.bus.publish(.session(.poolReplaced(number: 1)))
        self.fixture.bus.publish(.session(.invalidated))
        #expect(self.fixture.series()["tidegate_network_epochs_total"] == 1)
    }

    @Test("Only waits at a shut gate are observed")
    func gate() {
        self.fixture.publish(.gate(.immediate, waited: .zero))
        self.fixture.publish(.gate(.delayed, waited: .seconds(2)))
        self.fixture.publish(.gate(.timeout, waited: .seconds(60)))
        self.fixture.publish(.gate(.cancelled, waited: .seconds(1)))
        let series = self.fixture.series()
        #expect(series["tidegate_gate_admissions_total{result=\"immediate\"}"] == 1)
        #expect(series["tidegate_gate_admissions_total{result=\"delayed\"}"] == 1)
        #expect(series["tidegate_gate_admissions_total{result=\"timeout\"}"] == 1)
        #expect(series["tidegate_gate_admissions_total{result=\"cancelled\"}"] == nil)
        #expect(series["tidegate_gate_wait_seconds_sum{result=\"admitted\"}"] == 2)
        #expect(series["tidegate_gate_wait_seconds_sum{result=\"timeout\"}"] == 60)
        #expect(series["tidegate_gate_wait_seconds_sum{result=\"cancelled\"}"] == 1)
        #expect(series["tidegate_gate_wait_seconds_count{result=\"immediate\"}"] == nil)
    }
}

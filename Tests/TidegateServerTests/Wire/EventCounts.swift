internal import Synchronization
internal import TidegateCore
import TidegateTestKit

/// Counts events by the series that they should move; written from the catalogue's text and not from the recorder.
final class EventCounts: EventSink {
    private let state = Mutex(State())

    private struct State {
        var numbers: [SeriesKey: Double] = [:]
        var events: UInt64 = 0
    }

    /// What the counters should be.
    var numbers: [SeriesKey: Double] { self.state.withLock { $0.numbers } }

    /// How many events there were in all.
    var events: UInt64 { self.state.withLock { $0.events } }

    func receive(_ event: Event) {
        self.state.withLock { state in
            state.events += 1
            state.numbers.add("bus_events_published_total", ["topic": event.payload.topic.label])
            switch event.payload {
            case .task(let task): state.numbers.add(task)
            case .daemon(.requestAnswered(let handler, let status)):
                state.numbers.add("http_requests_total", ["handler": handler, "code": "\(status)"])
            case .path, .diagnosis, .targetCheck, .quality, .uplink, .link, .netlink, .session, .probe, .connection,
                .incident, .daemon:
                break
            }
        }
    }
}

extension [SeriesKey: Double] {
    fileprivate mutating func add(_ name: String, _ labels: [String: String] = [:], _ step: Double = 1) {
        self[SeriesKey(name: "tidegate_\(name)", labels: labels), default: 0] += step
    }

    fileprivate mutating func add(_ event: TaskEvent) {
        let kind = ["kind": event.taskKind.label]
        switch event.kind {
        case .created: self.add("task_submissions_total", kind)
        case .resumed: self.add("task_resumes_total")
        case .suspended(let reason): self.add("task_suspends_total", ["reason": reason.label])
        case .held(let reason, _): self.add("task_holds_total", ["reason": reason.label])
        case .released(let reason, let after):
            self.add("task_held_seconds_total", ["reason": reason.label], after / .seconds(1))
        case .gate(let result, _) where result == .immediate || result == .delayed:
            self.add("gate_admissions_total", ["result": result.label])
        case .progress(_, let delta):
            if delta.received > 0 { self.add("received_bytes_total", kind, Double(delta.received)) }
            if delta.sent > 0 { self.add("sent_bytes_total", kind, Double(delta.sent)) }
        case .attemptSucceeded(let summary), .attemptFailed(let summary, _, _, _): self.add(summary)
        case .retryScheduled(let reason, _):
            self.add("task_retries_total", ["reason": reason.label])
            self.add("task_retry_backoff_seconds_count")
        case .retriesExhausted(let reason): self.add("task_retries_exhausted_total", ["reason": reason.label])
        case .completed(let result): self.add(result)
        default: break
        }
    }

    private mutating func add(_ summary: AttemptSummary) {
        let code = summary.status.map(String.init) ?? (summary.isSent ? "none" : "unsent")
        self.add("request_attempts_total", ["method": summary.method, "code": code])
        let digit = summary.status.map { "\($0 / 100)xx" } ?? "none"
        self.add("request_duration_seconds_count", ["method": summary.method, "code_class": digit])
        for phase in PhaseDurations.Phase.allCases where summary.phases[phase] != nil {
            self.add("request_phase_duration_seconds_count", ["phase": phase.label])
        }
        if summary.connectionsOpened > 0 {
            self.add("connections_opened_total", [:], Double(summary.connectionsOpened))
        } else if summary.status != nil {
            self.add("connection_reuses_total")
        }
    }

    private mutating func add(_ result: TaskResult) {
        let labels = ["kind": result.kind.label, "outcome": result.outcome.label]
        self.add("task_completions_total", labels)
        self.add("task_duration_seconds_count", labels)
        switch result.outcome {
        case .success:
            self.add("response_body_size_bytes_count")
            if result.bytes > 0 { self.add("response_body_size_bytes_sum", [:], Double(result.bytes)) }
            if result.attempts > 1 { self.add("task_retry_successes_total") }
        case .failure:
            let party = result.attribution?.party.label ?? "unknown"
            self.add("task_failures_total", ["error_type": result.failure?.label ?? "internal", "party": party])
        case .cancelled: break
        }
    }
}

import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct LoadTests {
    private static let publishers = 4
    private static let rounds = 25000

    @Test("Counters equal the number of events, however many threads publish")
    func exact() async throws {
        let fixture = Fixture()
        let listener = fixture.bus.subscribe(.log, bufferingNewest: 16)
        await withTaskGroup { group in
            for publisher in 0..<Self.publishers {
                group.addTask { Self.publish(on: fixture, method: publisher.isMultiple(of: 2) ? "GET" : "PUT") }
            }
            group.addTask { for _ in 0..<50 { _ = fixture.text() } }
        }
        listener.cancel()
        let series = fixture.series()
        let total = Double(Self.publishers * Self.rounds)
        #expect(series["tidegate_bus_events_published_total{topic=\"task\"}"] == total * 3)
        #expect(series["tidegate_received_bytes_total{kind=\"data\"}"] == total * 10)
        #expect(series["tidegate_request_attempts_total{method=\"GET\",code=\"200\"}"] == total / 2)
        #expect(series["tidegate_request_attempts_total{method=\"PUT\",code=\"200\"}"] == total / 2)
        #expect(series["tidegate_request_phase_duration_seconds_count{phase=\"tls\"}"] == total)
        // Quarters of a second add up without rounding.
        #expect(series["tidegate_task_held_seconds_total{reason=\"budget\"}"] == total / 4)
    }

    private static func publish(on fixture: Fixture, method: String) {
        let summary = EveryEvent.attempt(1, method: method)
        for _ in 0..<self.rounds {
            fixture.publish(.progress(TransferProgress(), delta: .init(received: 10)))
            fixture.publish(.attemptSucceeded(summary))
            fixture.publish(.released(.budget, after: .milliseconds(250)))
        }
    }

    @Test("A histogram under contention loses no observation, and its count is its last bucket")
    func histogram() async {
        let histogram = Histogram(Catalogue.taskRetryBackoff, values: [])
        await withTaskGroup { group in
            for _ in 0..<Self.publishers {
                group.addTask { for round in 0..<Self.rounds { histogram.observe(Double(round % 8)) } }
            }
        }
        var output = ExpositionWriter(reusing: [], format: .text)
        histogram.write(to: &output)
        let text = String(decoding: output.finish(), as: UTF8.self)
        let total = Self.publishers * Self.rounds
        #expect(text.contains("tidegate_task_retry_backoff_seconds_bucket{le=\"+Inf\"} \(total)\n"))
        #expect(text.contains("tidegate_task_retry_backoff_seconds_count \(total)\n"))
        #expect(text.contains("tidegate_task_retry_backoff_seconds_sum \(total * 7 / 2)\n"))
    }

    @Test("What falls on a bound belongs to its bucket, and what is no number to none")
    func bounds() {
        let histogram = Histogram(Catalogue.taskRetryBackoff, values: [])
        for value in [0.01, 0.02, 3600, 3601, .nan, .infinity] { histogram.observe(value) }
        var output = ExpositionWriter(reusing: [], format: .text)
        histogram.write(to: &output)
        let text = String(decoding: output.finish(), as: UTF8.self)
        #expect(text.contains("{le=\"0.01\"} 1\n"))
        #expect(text.contains("{le=\"0.1\"} 2\n"))
        #expect(text.contains("{le=\"3600.0\"} 3\n"))
        #expect(text.contains("{le=\"+Inf\"} 5\n"))
    }
}

import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// The metrics of the connections of other programs.
@Suite struct ConnectionCollectorTests {
    private let fixture = Fixture()

    private func series(_ statistics: ConnectionStatistics?) -> [String: Double] {
        var inputs = self.fixture.inputs
        inputs.connections = statistics
        return self.fixture.series(of: inputs)
    }

    private func observed(in series: [String: Double]) -> Set<String> {
        Set(series.keys.filter { $0.contains(/^tidegate_(observed|observation|tcp)_/) })
    }

    @Test("Where nothing is observed, only the mode is there", arguments: [nil, ConnectionStatistics()])
    func off(_ statistics: ConnectionStatistics?) {
        let series = self.series(statistics)
        #expect(
            self.observed(in: series) == [
                "tidegate_observation_mode{mode=\"event\"}", "tidegate_observation_mode{mode=\"events_only\"}",
                "tidegate_observation_mode{mode=\"poll\"}", "tidegate_observation_mode{mode=\"counters\"}",
                "tidegate_observation_mode{mode=\"off\"}",
            ])
        #expect(series["tidegate_observation_mode{mode=\"off\"}"] == 1)
        #expect(series["tidegate_observation_mode{mode=\"event\"}"] == 0)
    }

    @Test("Counts are told by outcome, direction, kind and party")
    func counts() {
        let series = self.series(ConnectionSamples.statistics)
        let expected: [String: Double] = [
            "tidegate_observation_mode{mode=\"event\"}": 1, "tidegate_observation_mode{mode=\"off\"}": 0,
            "tidegate_observed_connections{direction=\"out\",state=\"closing\"}": 2,
            "tidegate_observed_connects_total{outcome=\"no_answer\"}": 1,
            "tidegate_observed_connects_total{outcome=\"not_sent\"}": 0, "tidegate_observed_accepts_total": 5,
            "tidegate_observed_ends_total{direction=\"out\",outcome=\"lost\"}": 2,
            "tidegate_observed_ends_total{direction=\"in\",outcome=\"lost\"}": 0,
            "tidegate_observed_failures_total{outcome=\"lost\",party=\"upstream\"}": 2,
            "tidegate_observed_failures_total{outcome=\"lost\",party=\"theirs\"}": 0,
            "tidegate_observed_stalled_connections{direction=\"out\",kind=\"unanswered\"}": 3,
            "tidegate_observed_stalls_total{direction=\"out\",kind=\"unanswered\"}": 4,
            "tidegate_observed_last_answer_timestamp_seconds{scope=\"private\"}": 1_790_000_000.5,
            "tidegate_observed_sent_segments_total{direction=\"out\"}": 1010,
            "tidegate_observed_retransmitted_segments_total{direction=\"out\"}": 10,
            "tidegate_observed_sent_bytes_total{direction=\"out\"}": 1_000_000,
            "tidegate_observed_limited_seconds_total{by=\"network\"}": 90.5,
            "tidegate_observed_limited_seconds_total{by=\"remote_window\"}": 4,
            "tidegate_observed_limited_seconds_total{by=\"program\"}": 0,
            "tidegate_observed_received_bytes_total{direction=\"out\"}": 2_000_000,
            "tidegate_tcp_active_opens_total": 51, "tidegate_tcp_listen_overflows_total": 1,
            "tidegate_observation_messages_total{group=\"tcp6\"}": 3, "tidegate_observation_dropped_total": 1,
            "tidegate_observation_unexplained_total{kind=\"connects\"}": 1,
            "tidegate_observation_unexplained_total{kind=\"resets\"}": 0,
            "tidegate_observation_excluded_total{kind=\"announced\"}": 4,
            "tidegate_observation_excluded_total{kind=\"configuration\"}": 0,
            "tidegate_observation_tracked_connections": 18, "tidegate_observation_receive_buffer_bytes": 425_984,
        ]
        for (name, value) in expected { #expect(series[name] == value, "\(name)") }
        // Nothing has answered there, and no end says how long its round trip was.
        #expect(!series.keys.contains { $0.contains("scope=\"public\"") })
        #expect(!series.keys.contains { $0.contains("outcome=\"closed\",party") }, "that is no failure")
    }

    @Test("A distribution is a histogram whose buckets add up")
    func histogram() {
        let series = self.series(ConnectionSamples.statistics)
        let name = "tidegate_observed_min_round_trip_seconds"
        #expect(series["\(name)_bucket{scope=\"private\",le=\"0.0005\"}"] == 0)
        #expect(series["\(name)_bucket{scope=\"private\",le=\"0.001\"}"] == 1)
        #expect(series["\(name)_bucket{scope=\"private\",le=\"0.025\"}"] == 2)
        #expect(series["\(name)_bucket{scope=\"private\",le=\"2.5\"}"] == 2)
        #expect(series["\(name)_bucket{scope=\"private\",le=\"+Inf\"}"] == 3)
        #expect(series["\(name)_count{scope=\"private\"}"] == 3)
        #expect(series["\(name)_sum{scope=\"private\"}"] == 4.019)
        #expect(series["tidegate_observation_dump_duration_seconds_count{kind=\"listeners\"}"] == 1)
    }

    @Test("A target has the series of its name")
    func target() {
        let series = self.series(ConnectionSamples.statistics)
        #expect(series["tidegate_observed_target_connections{target=\"api\",state=\"established\"}"] == 3)
        #expect(series["tidegate_observed_target_connects_total{target=\"api\",outcome=\"refused\"}"] == 1)
        #expect(series["tidegate_observed_target_connects_total{target=\"api\",outcome=\"unreachable\"}"] == 0)
        #expect(series["tidegate_observed_target_ends_total{target=\"api\",outcome=\"lost\"}"] == 2)
        #expect(
            series["tidegate_observed_target_last_answer_timestamp_seconds{target=\"api\"}"] == 1_790_000_000.25)
    }

    @Test("Beyond fifty targets one stands for all others, and each of those is counted once")
    func manyTargets() {
        var statistics = ConnectionSamples.statistics
        let target = statistics.targets["api"] ?? .init()
        statistics.targets = Dictionary(uniqueKeysWithValues: (100..<149).map { ("t\($0)", target) })
        _ = self.series(statistics)
        // The first of these two in the order of names gets the last place, although it sorts before the others.
        for name in ["a1", "a2", "z"] { statistics.targets[name] = target }
        statistics.targets["z"]?.lastAnswer = WallTime(microseconds: 1_790_000_009_000_000)
        _ = self.series(statistics)
        let series = self.series(statistics)
        let connects = "tidegate_observed_target_connects_total"
        #expect(series["\(connects){target=\"a1\",outcome=\"refused\"}"] == 1)
        #expect(series["\(connects){target=\"t148\",outcome=\"refused\"}"] == 1)
        #expect(series["\(connects){target=\"a2\",outcome=\"refused\"}"] == nil)
        #expect(series["\(connects){target=\"_other\",outcome=\"refused\"}"] == 2)
        #expect(series["\(connects){target=\"_other\",outcome=\"established\"}"] == 8)
        #expect(series["tidegate_observed_target_connections{target=\"_other\",state=\"established\"}"] == 6)
        #expect(
            series["tidegate_observed_target_last_answer_timestamp_seconds{target=\"_other\"}"] == 1_790_000_009)
        #expect(series["tidegate_label_overflow_total{metric=\"\(connects)\",label=\"target\"}"] == 2)
    }

    @Test("All that can be observed without targets fits in 160 series, and a target adds 15 at most")
    func budget() {
        var statistics = ConnectionSamples.statistics
        for scope in ConnectionScope.allCases {
            statistics.lastAnswers[scope] = WallTime(microseconds: 0)
            statistics.roundTrips[scope] = .init(bounds: ConnectionStatistics.roundTripBounds)
        }
        let one = self.observed(in: self.series(statistics)).count
        statistics.targets = [:]
        let none = self.observed(in: self.series(statistics)).count
        #expect(none <= 160)
        #expect(one - none <= 15)
    }
}

import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// Attempts by host: only if configured, bounded, and what exceeds the bound is counted.
@Suite struct HostLabelTests {
    private static func fixture(_ label: HostLabel, attempting hosts: [String?]) -> Fixture {
        let fixture = Fixture(hostLabel: label)
        for host in hosts {
            fixture.publish(.attemptSucceeded(EveryEvent.attempt(1, host: host)))
        }
        return fixture
    }

    private static func attempts(_ series: [String: Double]) -> [String: Double] {
        series.filter { $0.key.hasPrefix("tidegate_request_attempts_total") }
    }

    private static func overflows(_ series: [String: Double]) -> [String: Double] {
        series.filter { $0.key.hasPrefix("tidegate_label_overflow_total") }
    }

    @Test("By default no series has a host, and none shows budgets")
    func off() {
        let fixture = Self.fixture(.off, attempting: ["a.example", "b.example"])
        var inputs = fixture.inputs
        inputs.session.retryTokens = ["a.example": 3]
        let series = fixture.series(of: inputs)
        #expect(Self.attempts(series) == ["tidegate_request_attempts_total{method=\"GET\",code=\"200\"}": 2])
        #expect(!series.keys.contains { $0.contains("host=") || $0.hasPrefix("tidegate_retry_budget") })
        #expect(Self.overflows(series).isEmpty)
    }

    @Test("A host's certificate has its end as a series, with the host label only")
    func certificates() {
        func fixture(_ label: HostLabel) -> Fixture {
            let fixture = Fixture(hostLabel: label)
            for (host, day, isReused) in [
                ("a.example", 3, false), ("b.example", 9, false), ("c.example", 5, false), ("a.example", 8, true),
            ] {
                let summary = EveryEvent.attempt(
                    1, isReused: isReused, host: host, certificateEnd: "Jan  \(day) 00:00:00 2027 GMT")
                fixture.publish(.attemptSucceeded(summary))
            }
            return fixture
        }
        let name = "tidegate_request_certificate_expiry_timestamp_seconds"
        #expect(!fixture(.off).series().keys.contains { $0.hasPrefix(name) })
        let series = fixture(.allowlist(["a.example"])).series()
        #expect(
            series["\(name){host=\"a.example\"}"] == 1_798_934_400, "a connection that is used again shows nothing new")
        #expect(series["\(name){host=\"_other\"}"] == 1_799_107_200, "the first to end")
    }

    @Test("Listed hosts have series of their own, and all the others one together, which is no overflow")
    func listed() {
        let fixture = Self.fixture(.allowlist(["a.example"]), attempting: ["a.example", "b.example", "c.example", nil])
        let series = fixture.series()
        #expect(
            Self.attempts(series) == [
                "tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"a.example\"}": 1,
                "tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"_other\"}": 3,
            ])
        let durations = "tidegate_request_duration_seconds_count{method=\"GET\",code_class=\"2xx\",host="
        #expect(series[durations + "\"a.example\"}"] == 1 && series[durations + "\"_other\"}"] == 3)
        #expect(Self.overflows(series).isEmpty)
    }

    @Test("Beyond the bound only the host is replaced, and every time is counted for each metric")
    func all() {
        let fixture = Self.fixture(.top(limit: 2), attempting: ["a", "b", "c", "a", "d", "b", "c"])
        let failed = EveryEvent.attempt(1, status: nil, host: "e")
        fixture.publish(.attemptFailed(failed, .connectFailed, nil, isCharged: true))
        let series = fixture.series()
        #expect(
            Self.attempts(series) == [
                "tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"a\"}": 2,
                "tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"b\"}": 2,
                "tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"_other\"}": 3,
                "tidegate_request_attempts_total{method=\"GET\",code=\"none\",host=\"_other\"}": 1,
            ])
        #expect(
            Self.overflows(series) == [
                "tidegate_label_overflow_total{metric=\"tidegate_request_attempts_total\",label=\"host\"}": 4,
                "tidegate_label_overflow_total{metric=\"tidegate_request_duration_seconds\",label=\"host\"}": 4,
            ])
    }

    @Test("A hundred thousand hosts are fifty and one more, and the overflow was 0 before it began")
    func bounded() {
        let fixture = Fixture(hostLabel: .top(limit: 50))
        #expect(Self.overflows(fixture.series()).values.sorted() == [0, 0])
        for number in 0..<100_000 {
            fixture.publish(.attemptSucceeded(EveryEvent.attempt(1, host: "host-\(number).example")))
        }
        let series = fixture.series()
        let attempts = Self.attempts(series)
        #expect(attempts.count == 51 && attempts.values.reduce(0, +) == 100_000)
        #expect(attempts["tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"_other\"}"] == 99_950)
        #expect(Self.overflows(series).values.sorted() == [99_950, 99_950])
    }

    @Test("Hosts that arrive on several threads at once are still not more than the bound")
    func contended() async {
        let fixture = Fixture(hostLabel: .top(limit: 5))
        await withTaskGroup { group in
            for part in 0..<4 {
                group.addTask {
                    for number in 0..<2000 {
                        let host = "\((number &* 7 &+ part) % 40)"
                        fixture.publish(.attemptSucceeded(EveryEvent.attempt(1, host: host)))
                    }
                }
            }
        }
        let series = fixture.series()
        let attempts = Self.attempts(series)
        #expect(attempts.count == 6 && attempts.values.reduce(0, +) == 8000)
        let others = attempts["tidegate_request_attempts_total{method=\"GET\",code=\"200\",host=\"_other\"}"] ?? 0
        #expect(Self.overflows(series).values.allSatisfy { $0 == others })
    }

    @Test("Budgets are shown for the hosts that have a label, and the least of the others")
    func budgets() {
        let fixture = Self.fixture(.top(limit: 2), attempting: ["a", "b"])
        var inputs = fixture.inputs
        inputs.session.retryTokens = ["a": 500, "b": 486, "c": 20, "d": 3.5]
        let tokens = fixture.series(of: inputs).filter { $0.key.hasPrefix("tidegate_retry_budget_tokens") }
        #expect(
            tokens == [
                "tidegate_retry_budget_tokens{host=\"a\"}": 500, "tidegate_retry_budget_tokens{host=\"b\"}": 486,
                "tidegate_retry_budget_tokens{host=\"_other\"}": 3.5,
            ])
    }

    @Test("Every host name is escaped, in every format", arguments: ExpositionFormat.allCases)
    func hostile(_ format: ExpositionFormat) throws {
        let names = ["a\"b", "a\\b", "a\nb", String(repeating: "x", count: 10_000), "", "\u{FFFD}"]
        let fixture = Self.fixture(.top(limit: 50), attempting: names)
        // The fixture's budgets are of another host.
        let expected = Set(names + ["_other"])
        guard format != .protobuf else {
            let bytes = fixture.recorder.exposition(of: fixture.inputs, in: format)
            let labels = try ProtobufMessage.stream(bytes).flatMap { $0.messages(4) }.flatMap { $0.messages(1) }
            #expect(Set(labels.filter { $0.strings(1) == ["host"] }.flatMap { $0.strings(2) }) == expected)
            return
        }
        let text = fixture.text(format)
        #expect(text.contains("host=\"a\\\"b\"") && text.contains("host=\"a\\\\b\"") && text.contains("host=\"a\\nb\""))
        let labels = fixture.recorder.samples(of: fixture.inputs).flatMap(\.labels).filter { $0.name == "host" }
        #expect(Set(labels.map(\.value)) == expected)
    }
}

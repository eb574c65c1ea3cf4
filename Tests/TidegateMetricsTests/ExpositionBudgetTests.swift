import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// What a Prometheus has to store for one monitor.
@Suite struct ExpositionBudgetTests {
    // An hour of a host with a request a second, and the answers that it gets.
    private static let answers: [(method: String, status: Int?)] =
        [200, 204, 206, 301, 304, 404, 429, 503, nil].map { ("GET", $0) } + [("POST", 201), ("POST", 503)]

    private static func anHour(_ label: HostLabel) -> Fixture {
        let fixture = Fixture(hostLabel: label)
        // Everything that can happen, but for uploads and probes: a host that has them as well is not the usual one.
        for payload in EveryEvent.payloads {
            if case .task(let task) = payload, task.taskKind == .upload { continue }
            if case .probe = payload { continue }
            fixture.bus.publish(payload)
        }
        fixture.recordRoundTrips()
        for second in 0..<3600 {
            fixture.time.advance(by: .seconds(1))
            let (method, status) = Self.answers[second % Self.answers.count]
            let summary = AttemptSummary(
                number: 1, method: method, host: "host-\(second % 500).example", status: status,
                duration: .milliseconds(second), receivedWire: 1000)
            let isGood = status.map { $0 < 400 } ?? false
            fixture.publish(
                isGood ? .attemptSucceeded(summary) : .attemptFailed(summary, .httpStatus, nil, isCharged: true))
        }
        return fixture
    }

    // Four links and three targets; a laptop has two and none.
    private static func inputs(_ fixture: Fixture) throws -> ScrapeInputs {
        var inputs = fixture.inputs
        inputs.status.links = (0..<4).map { number in
            Link(
                name: "eth\(number)", index: UInt32(number + 2), kind: .ethernet, isAdminUp: true, hasCarrier: true,
                operState: .up, reason: nil, carrierLosses: 3)
        }
        inputs.status.targets = try (0..<3).map { number in
            TargetVerdict(target: try Target("api-\(number).example.com:443"), verdict: EveryEvent.routed)
        }
        for (number, entry) in inputs.status.targets.enumerated() { inputs.targetNames[entry.target] = "api-\(number)" }
        return inputs
    }

    @Test("After an hour's normal use there are under 1,125 series and 110 KB, in every format")
    func usual() throws {
        let fixture = Self.anHour(.off)
        let inputs = try Self.inputs(fixture)
        #expect(fixture.series(of: inputs).count < 1125)
        for format in ExpositionFormat.allCases {
            #expect(fixture.recorder.exposition(of: inputs, in: format).count < 110_000, "\(format)")
        }
    }

    @Test("With five hundred hosts and the label on, fifty more of each answer's series is the end")
    func hosts() throws {
        let fixture = Self.anHour(.top(limit: 50))
        let before = fixture.series(of: try Self.inputs(fixture)).count
        // Another hour of other hosts brings nothing new.
        for number in 0..<3600 {
            let (method, status) = Self.answers[number % Self.answers.count]
            let summary = AttemptSummary(
                number: 1, method: method, host: "new-\(number).example", status: status, duration: .milliseconds(1))
            fixture.publish(.attemptSucceeded(summary))
        }
        let others = fixture.series(of: try Self.inputs(fixture))
        #expect(others.count == before)
        let hosts = Set(others.keys.compactMap { $0.firstMatch(of: /host="([^"]*)"/).map { String($0.1) } })
        #expect(hosts.count == 51, "fifty, and one for all others: \(hosts.count)")
    }
}

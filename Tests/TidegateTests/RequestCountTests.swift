import Testing
import Tidegate
import TidegateTestKit

/// What `tidegate_request_attempts_total` counts.
@Suite(.timeLimit(.minutes(5))) struct RequestCountTests {
    /// The counter's series, by their codes.
    private static func attempts(_ monitor: Monitor) -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in monitor.metrics.exposition(for: .text).split(separator: "\n") {
            guard line.hasPrefix("tidegate_request_attempts_total{"), let code = line.firstRange(of: "code=\""),
                let value = line.split(separator: " ").last.flatMap({ Double($0) })
            else { continue }
            counts[String(line[code.upperBound...].prefix { $0 != "\"" }), default: 0] += Int(value)
        }
        return counts
    }

    @Test(
        "Without those that were never sent it is what servers have seen, redirects and broken connections included"
    )
    func wire() async throws {
        let end = try LiveServer { request in
            switch request.number % 4 {
            case 0: .respond(503)
            case 1: LiveServerAnswer([.close])
            default: .respond(text: "ok")
            }
        }
        let start = try LiveServer { _ in .respond(302, ["Location: \(end.url("/end"))"]) }
        defer {
            start.stop()
            end.stop()
        }
        let retry = RetryPolicy(attempts: 3, base: .milliseconds(1), cap: .milliseconds(2))
        var configuration = MonitorConfiguration()
        (configuration.session.retry, configuration.session.circuit) = (retry, .never)
        let monitor = try Monitor(configuration)
        let closed = "http://127.0.0.1:\(try FreePort.find())/"
        for url in Array(repeating: [start.url("/"), closed], count: 10).flatMap(\.self) {
            let task = monitor.session.makeTask(try TaskRequest(url: url))
            task.resume()
            _ = await task.result()
        }
        let counts = Self.attempts(monitor)
        let unsent = counts["unsent"] ?? 0
        #expect(unsent >= 10, "\(counts)")
        #expect(counts.values.reduce(0, +) - unsent == start.requests.count + end.requests.count, "\(counts)")
        #expect((counts["none"] ?? 0) > 0 && (counts["503"] ?? 0) > 0, "\(counts)")
        await monitor.stop()
    }
}

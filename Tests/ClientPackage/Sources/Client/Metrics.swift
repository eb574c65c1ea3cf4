import Foundation
import Tidegate
import TidegateServer

/// Serves the page, `/metrics` and events of a monitor in the app's own process, for as long as `use` takes.
func serve(_ monitor: Monitor, while use: @Sendable (URL) async throws -> Void) async throws {
    let endpoint = try MonitorEndpoint(for: monitor.endpointDependencies, listen: ["127.0.0.1:0"])
    let (listening, continuation) = AsyncStream.makeStream(of: [Int].self)
    let serving = Task { try await endpoint.run { continuation.yield($0) } }
    guard let port = await listening.first(where: { _ in true })?.first,
        let server = URL(string: "http://127.0.0.1:\(port)/")
    else { throw Failure(description: "the endpoint has no port") }
    try await use(server)
    serving.cancel()
    _ = await serving.result
}

/// Prints what the monitor has counted, which is what Prometheus would scrape.
func printMetrics(of monitor: Monitor, from server: URL) async throws {
    for line in monitor.metrics.exposition().split(separator: "\n") where line.hasPrefix("tidegate_task_completions") {
        print(line)
    }
    let (scraped, _) = try await monitor.session.data(for: server.appendingPathComponent("metrics"))
    let levels = String(decoding: scraped, as: UTF8.self).split(separator: "\n").filter {
        $0.hasPrefix("tidegate_reachability_level{") && $0.hasSuffix(" 1")
    }
    try expect(levels.count == 1, "the scraped level is \(levels)")
}

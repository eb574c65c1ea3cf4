import Foundation
import Tidegate

/// Observes the connections of other programs for a moment.
func observeConnections() async throws {
    var configuration = MonitorConfiguration()
    configuration.connections.isEnabled = true
    let monitor = try Monitor(configuration)

    let report = await monitor.connections.report()
    for remote in report.remotes where remote.stalledCount > 0 {
        print(remote.remote, remote.stalledCount, remote.party?.description ?? "not decided yet")
    }
    try expect(report.mode != .off, "connections are not observed: \(report.reason ?? "no reason")")

    let stalls = Task {
        for await stall in monitor.connections.stalled() { print(stall.remote, stall.kind, stall.party) }
    }
    stalls.cancel()
    await stalls.value
    await monitor.stop()
}

/// Asks who is responsible for a failure, and whether a server works.
func attribute(with monitor: Monitor, to server: URL) async throws {
    var request = try TaskRequest(url: "http://127.0.0.1:1/")
    request.options.retry = .never
    let task = monitor.session.makeTask(request)
    task.resume()
    let result = await task.result()
    if let attribution = result.attribution {
        print("\(attribution.party): \(attribution.evidence.joined(separator: "; "))")
    }
    try expect(result.attribution?.party == .mine, "a closed port of this host is attributed to \(result)")

    let diagnosis = try await monitor.diagnose(server)
    print(diagnosis.party?.description ?? "works", diagnosis.advice)
    try expect(diagnosis.party == nil, "\(server) does not work: \(diagnosis)")
}

import Foundation
import Tidegate

/// Checks a server at intervals, and reads what the checks found.
func checkTarget(_ server: URL) async throws {
    let target = try Target("127.0.0.1:\(server.port ?? 80)")
    var configuration = MonitorConfiguration()
    configuration.reachability.targets = [target]
    configuration.reachability.targetChecks[target] = try TargetCheck(
        url: server.appendingPathComponent("-/healthy").absoluteString, interval: .seconds(1), timeout: .seconds(5))
    configuration.targetNames[target] = "api"
    let monitor = try Monitor(configuration)

    for await event in monitor.events() {
        guard case .targetCheck(let check) = event.payload else { continue }
        print(check.target, check.failure?.text ?? "reached")
        break
    }

    let report = monitor.status.checks[target]
    if let report {
        print(report.isReached == true ? "up" : "down", report.latency ?? .zero, report.nextCheck ?? "")
        if let failure = report.lastFailure { print(failure.party, failure.text, failure.advice) }
    }
    try expect(report?.isReached == true, "the check found \(String(describing: report))")
    let metric = "tidegate_target_reachable{target=\"api\"} 1"
    try expect(monitor.metrics.exposition().contains(metric), "no sample \(metric)")
    await monitor.stop()
}

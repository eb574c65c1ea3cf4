import Foundation
import Tidegate

/// Watches the path to a server, and waits until the server can be reached.
func followPath(of monitor: Monitor, to server: URL) async throws {
    let (host, port) = (server.host ?? "", UInt16(server.port ?? 80))

    for await path in try monitor.paths(to: "\(host):\(port)") {
        print(path.target, path.verdict.level)
        if path.verdict.level >= .routed { break }
    }

    try await monitor.wait(for: .host(host, port), stable: .milliseconds(100), timeout: .seconds(30))
    do {
        try await monitor.wait(for: .carrier(interface: "absent0"), timeout: .milliseconds(200))
    } catch {
        if case .timedOut(let unmet?) = error { print("still missing at \(unmet.rung.rawValue): \(unmet.message)") }
    }
    try expect(monitor.status.level > .unknown, "the level is \(monitor.status.level) after a wait")
}

/// Finds out where a request would fail, and whose failure that is.
func explain(_ monitor: Monitor, _ server: URL) async throws {
    let diagnosis = try await monitor.diagnose(server)
    if let failure = diagnosis.firstFailure {
        print("fails at \(failure.rung): \(failure.evidence.joined(separator: "; "))")
        print(diagnosis.advice)
    }
    try expect(diagnosis.firstFailure == nil, "\(server) cannot be reached: \(diagnosis)")
}

import TidegateCore
@testable import TidegateProbes

/// Probes by a module `websocket` with the options that a test sets.
enum WebSocketProbing {
    /// What is known of the network.
    struct Network {
        var path: @Sendable (IPAddress) -> Verdict = { _ in .unknown }
        var cause: Cause?
    }

    static func probe(
        _ target: String, hostname: String? = nil, timeout: Duration = .seconds(20),
        names: [String: [IPAddress]] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        on network: Network = Network(), _ change: (inout WebSocketProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        let module = ProbeModule(prober: .websocket(try .with(change)), timeout: timeout, text: "prober: websocket\n")
        return try await ProbeFixture(
            names: names, targets: targets, path: network.path, cause: network.cause, module: module
        )
        .probe(target, hostname: hostname)
    }
}

extension ProbeReport {
    /// Status, upgrade and regular expressions, as the three series have them.
    var webSocket: [Double?] {
        ["status_code", "connection_upgraded", "failed_due_to_regex"].map { self.value("probe_websocket_\($0)") }
    }
}

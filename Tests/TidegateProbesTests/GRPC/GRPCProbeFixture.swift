import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// Probes by a module `grpc` with the options that a test sets.
enum GRPCProbeFixture {
    static func probe(
        _ target: String, hostname: String? = nil, timeout: Duration = .seconds(20),
        names: [String: [IPAddress]] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        path: Verdict = .unknown,
        _ change: (inout GRPCProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        let module = ProbeModule(prober: .grpc(try .with(change)), timeout: timeout, text: "prober: grpc\n")
        return try await ProbeFixture(names: names, targets: targets, path: { _ in path }, module: module)
            .probe(target, hostname: hostname)
    }

    /// A probe of a server that does the same with every call.
    static func probe(
        _ action: GRPCServer.Action, timeout: Duration = .seconds(20)
    ) async throws -> ProbeReport {
        let server = try await GRPCServer { _ in action }
        return try await Self.probe("127.0.0.1:\(server.port)", timeout: timeout)
    }
}

extension ProbeReport {
    /// The service's states for which the probe reports 1.
    var servingStatuses: [String] {
        self.families.first { $0.name == "probe_grpc_healthcheck_response" }?.samples
            .filter { $0.value == 1 }.map { $0.labels[0] } ?? []
    }

    /// The code of the call's status; nil without one.
    var grpcStatus: Double? { self.value("probe_grpc_status_code") }
}

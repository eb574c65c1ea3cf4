import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// Probes by a module `dns` with the options that a test sets.
enum DNSProbing {
    static func probe(
        host: String = "127.0.0.1", _ port: UInt16, timeout: Duration = .seconds(20),
        names: [String: [IPAddress]] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        _ change: (inout DNSProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        var options = DNSProbeOptions.with { $0.name = "www.tide.test" }
        try change(&options)
        let module = ProbeModule(prober: .dns(options), timeout: timeout)
        return try await ProbeFixture(names: names, targets: targets, module: module).probe("\(host):\(port)")
    }

    /// A server that answers every question with the same message.
    static func server(_ message: DNSMessageBytes, hasBothFamilies: Bool = false) throws -> ScriptedNameServer {
        try ScriptedNameServer(
            hasBothFamilies: hasBothFamilies, stream: { message.stream(to: $0) },
            datagrams: { [message.reply(to: $0)] })
    }
}

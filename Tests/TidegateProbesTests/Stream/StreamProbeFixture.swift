import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateCEL

/// Probes by a module `tcp` with the options that a test sets.
enum StreamProbe {
    static func tcp(
        _ target: String, hostname: String? = nil, timeout: Duration = .seconds(20),
        names: [String: [IPAddress]] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        text: String = "prober: tcp\n", _ change: (inout StreamProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        let module = ProbeModule(prober: .tcp(try .with(change)), timeout: timeout, text: text)
        return try await ProbeFixture(names: names, targets: targets, module: module).probe(target, hostname: hostname)
    }
}

extension StreamProbeOptions.Step {
    static func expect(
        _ pattern: String, send: String = "", labels: [StreamProbeOptions.Label] = []
    ) throws -> StreamProbeOptions.Step {
        var step = StreamProbeOptions.Step()
        step.expect = try RegularExpression(pattern)
        step.send = send
        step.labels = labels
        return step
    }

    static func send(_ line: String) -> StreamProbeOptions.Step {
        var step = StreamProbeOptions.Step()
        step.send = line
        return step
    }

    static func expect(bytes: String, send: String = "") -> StreamProbeOptions.Step {
        var step = StreamProbeOptions.Step.send(send)
        step.expectedBytes = Array(bytes.utf8)
        return step
    }

    static var startTLS: StreamProbeOptions.Step {
        var step = StreamProbeOptions.Step()
        step.startsTLS = true
        return step
    }
}

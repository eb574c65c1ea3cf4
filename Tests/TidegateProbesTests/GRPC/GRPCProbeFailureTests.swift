import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

/// Answers that are none, and servers that mean harm.
@Suite(.timeLimit(.minutes(5)))
struct GRPCProbeFailureTests {
    @Test("An answer that is none says what is wrong with it", arguments: GRPCProbeCases.answers.indices)
    func answers(_ number: Int) async throws {
        let (action, expected) = GRPCProbeCases.answers[number]
        let report = try await GRPCProbeFixture.probe(action)
        #expect(report.value("probe_success") == 0 && report.servingStatuses.isEmpty)
        #expect(report.failure?.reason == expected.reason && report.failure?.text == expected.text)
        #expect(report.grpcStatus == expected.status)
        #expect(report.failure?.party == (expected.status == 16 ? .mine : .theirs))
        #expect(report.phases(of: "grpc") == ["resolve", "check"])
    }

    @Test("Other fields of the message are passed over, and of two states the last one counts")
    func message() async throws {
        let fields: [UInt8] = [
            0x10, 0x96, 1, 0x08, 2, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x22, 1, 9, 0x2D, 1, 2, 3, 4, 8, 1,
        ]
        #expect(try await GRPCProbeFixture.probe(.message(fields)).value("probe_success") == 1)
        let negative = try await GRPCProbeFixture.probe(.message([8] + [UInt8](repeating: 0xFF, count: 9) + [1]))
        #expect(negative.servingStatuses == ["-1"] && negative.failure?.reason == "not_serving")
    }

    @Test(
        "A call that the server resets has the status that gRPC gives to its code",
        arguments: [
            (0, 13, "NO_ERROR (INTERNAL)"), (1, 13, "PROTOCOL_ERROR (INTERNAL)"), (2, 13, "INTERNAL_ERROR (INTERNAL)"),
            (5, 13, "STREAM_CLOSED (INTERNAL)"), (7, 14, "REFUSED_STREAM (UNAVAILABLE)"), (8, 1, "CANCEL (CANCELLED)"),
            (11, 8, "ENHANCE_YOUR_CALM (RESOURCE_EXHAUSTED)"), (12, 7, "INADEQUATE_SECURITY (PERMISSION_DENIED)"),
            (13, 13, "HTTP_1_1_REQUIRED (INTERNAL)"), (77, 2, "error 77 (UNKNOWN)"),
        ])
    func reset(_ code: Int, _ status: Int, _ text: String) async throws {
        let report = try await GRPCProbeFixture.probe(
            .raw(GRPCServer.frame(type: 3, [0, 0, 0, UInt8(code)])))
        #expect(report.grpcStatus == Double(status) && report.failure?.reason == "status")
        #expect(report.failure?.text == "the server reset the call: \(text)")
        #expect(report.failure?.party == .theirs)
    }

    @Test("A server that goes away with the call unanswered is unavailable; one that answers before is not")
    func goAway() async throws {
        func frame(last: UInt8, _ code: UInt8) -> [UInt8] {
            GRPCServer.frame(type: 7, stream: 0, [0, 0, 0, last, 0, 0, 0, code])
        }
        let refused = try await GRPCProbeFixture.probe(.raw(frame(last: 0, 0)))
        #expect(refused.grpcStatus == 14 && refused.failure?.reason == "status", "\(refused.failure as Any)")
        let head: [UInt8] = [0x88, 0x0F, 0x10, 16] + Array("application/grpc".utf8)
        let status: [UInt8] = [0x00, 11] + Array("grpc-status".utf8) + [1, UInt8(ascii: "0")]
        let answer =
            GRPCServer.frame(type: 1, flags: 4, head)
            + GRPCServer.frame(type: 0, [0, 0, 0, 0, 2, 8, 1]) + GRPCServer.frame(type: 1, flags: 5, status)
        let answered = try await GRPCProbeFixture.probe(.raw(frame(last: 1, 0) + answer))
        #expect(answered.value("probe_success") == 1, "\(answered.failure as Any)")
    }

    @Test(
        "A server that never comes to an end is left, at the deadline at the latest",
        arguments: GRPCProbeCases.floods.indices)
    func floods(_ number: Int) async throws {
        let (name, action, reason) = GRPCProbeCases.floods[number]
        let limit: Duration = reason == "timed_out" ? .milliseconds(700) : .seconds(60)
        let report = try await GRPCProbeFixture.probe(action, timeout: limit)
        #expect(report.failure?.reason == reason, "\(name): \(report.failure as Any)")
        #expect(report.value("probe_success") == 0 && report.servingStatuses.isEmpty, "\(name)")
        if reason == "timed_out" { #expect(report.grpcStatus == 4, "\(name)") }
        #expect(report.duration < .seconds(60), "\(name)")
    }

    @Test("A server without HTTP/2 is reported as such, silence is waited out, and a closed port fails immediately")
    func others() async throws {
        let page = try await ScriptedServer([.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), .hang])
        let old = try await GRPCProbeFixture.probe("127.0.0.1:\(page.port)")
        #expect(old.failure?.reason == "protocol_error" && old.grpcStatus == 14)
        #expect(old.failure?.text == "the server does not speak HTTP/2 as it should")
        let silent = try await ScriptedServer([.hang])
        for usesTLS in [false, true] {
            let report = try await GRPCProbeFixture.probe("127.0.0.1:\(silent.port)", timeout: .milliseconds(500)) {
                $0.usesTLS = usesTLS
            }
            #expect(report.failure?.reason == "timed_out" && report.grpcStatus == 4, "\(report.failure as Any)")
        }
        let closed = try await GRPCProbeFixture.probe("127.0.0.1:\(try FreePort.find())")
        #expect(closed.failure?.reason == "connect_failed" && closed.failure?.party == .mine)
        #expect(closed.failure?.text == "127.0.0.1 refused the connection" && closed.grpcStatus == 14)
        let reset = try await ScriptedServer([.readLine, .reset])
        let broken = try await GRPCProbeFixture.probe("127.0.0.1:\(reset.port)")
        #expect(broken.failure?.reason == "reset" && broken.grpcStatus == 14, "\(broken.failure as Any)")
    }
}

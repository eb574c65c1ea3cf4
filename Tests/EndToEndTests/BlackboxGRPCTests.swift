import Foundation
import Testing
import TidegateTestKit

/// The same gRPC health checks by blackbox_exporter and by tidegate.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"), .timeLimit(.minutes(5))
)
struct BlackboxGRPCTests {
    private static let modules = """
        modules:
          plain: {prober: grpc, timeout: 5s, grpc: {preferred_ip_protocol: ip4}}
          service: {prober: grpc, timeout: 5s, grpc: {service: a.b.Service, preferred_ip_protocol: ip4}}
          ip6: {prober: grpc, timeout: 5s, grpc: {preferred_ip_protocol: ip6, ip_protocol_fallback: false}}
          tls: {prober: grpc, timeout: 5s, grpc: {tls: true, tls_config: {ca_file: CA}}}
          tls_service: {prober: grpc, timeout: 5s, grpc: {tls: true, service: missing, tls_config: {ca_file: CA}}}
          tls_system: {prober: grpc, timeout: 5s, grpc: {tls: true}}
          tls_named: {prober: grpc, timeout: 5s, grpc: {tls: true, tls_config: {ca_file: CA, server_name: localhost}}}
          tls_other: {prober: grpc, timeout: 5s, grpc: {tls: true, tls_config: {ca_file: CA, server_name: other.example}}}
          tls_insecure: {prober: grpc, timeout: 5s, grpc: {tls: true, tls_config: {insecure_skip_verify: true}}}
        """

    /// Version 0.23 has it at 0 before there was a handshake, later ones only after it.
    private static let expiry = "probe_ssl_earliest_cert_expiry"

    // What a server does with every call.
    private static var actions: [GRPCServer.Action] {
        var actions: [GRPCServer.Action] = [0, 1, 2, 3, 7].map { .health($0) }
        for code in 1...16 { actions.append(.status("\(code)", "no")) }
        // A call that was refused (7) is made again by theirs, without an end.
        for code: UInt8 in [1, 2, 8, 11, 12] { actions.append(.raw(GRPCServer.frame(type: 3, [0, 0, 0, code]))) }
        for status in ["400", "401", "403", "404", "429", "500", "502", "503"] {
            actions.append(.answer([(":status", status)]))
        }
        actions += [
            .close, .message([8, 1], flag: 1), .message([0x0A, 9]),
            .answer([(":status", "200"), ("content-type", "text/html")], body: [Array("<p>".utf8)]),
        ]
        let status: [GRPCServer.Field] = [("grpc-status", "0")]
        actions.append(.answer(GRPCServer.head, body: [[0, 0, 0, 0, 2, 8, 1]]))
        actions.append(.answer(GRPCServer.head, body: [[0, 0, 0, 0, 2, 8, 1]], trailers: [("x", "y")]))
        actions.append(.answer(GRPCServer.head, body: [[0, 0, 0, 0, 2, 8]], trailers: status))
        actions.append(.answer(GRPCServer.head, body: [[0, 0x7F, 0xFF, 0xFF, 0xFF]], trailers: status))
        return actions
    }

    @Test("Every series of blackbox_exporter is there, with the same value, and both make the same call")
    func plain() async throws {
        let comparison = try await BlackboxComparison(Self.modules.replacing("CA", with: "/nowhere"))
        defer { comparison.stop() }
        for action in Self.actions {
            let server = try await GRPCServer { _ in action }
            try await comparison.compare("plain", "127.0.0.1:\(server.port)", without: [Self.expiry])
        }
        let server = try await GRPCServer { $0.body.count > 5 ? .health(1) : .status("5") }
        for (module, target) in [
            ("plain", "127.0.0.1:PORT"), ("service", "127.0.0.1:PORT"), ("service", "localhost:PORT"),
            ("service", "http://127.0.0.1:PORT/x"), ("service", "https://localhost:PORT"),
            ("service", "127.0.0.1:PORT/x://y"), ("service", "http://127.0.0.1:PORT/?next=http://a.example/"),
        ] {
            let found = try await comparison.compare(
                module, target.replacing("PORT", with: "\(server.port)"), without: [Self.expiry])
            #expect(found["probe_success"] == (module == "plain" ? "0" : "1"), "\(module) \(target)")
        }
        let calls = server.calls
        try #require(calls.count == 14)
        for (theirs, own) in zip(calls.indices.filter { $0 % 2 == 0 }, calls.indices.filter { $0 % 2 == 1 }) {
            #expect(Self.essence(calls[theirs]) == Self.essence(calls[own]))
        }
        let page = try await ScriptedServer([.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .hang])
        for target in ["127.0.0.1:\(page.port)", "127.0.0.1:\(try FreePort.find())", "127.0.0.1", "nowhere.invalid:1"] {
            let found = try await comparison.compare("plain", target, without: [Self.expiry])
            #expect(found["probe_success"] == "0", "\(target)")
        }
        try await comparison.compare("ip6", "127.0.0.1:\(server.port)", without: [Self.expiry])
    }

    @Test("Over TLS both say the same of the certificate, and of one that is not accepted")
    func encrypted() async throws {
        let authority = try await TestAuthority()
        let server = try await GRPCServer(identity: try await authority.sign(["localhost", "IP:127.0.0.1"])) {
            $0.body.count > 5 ? .status("5") : .health(1)
        }
        let plain = try await GRPCServer { _ in .health(1) }
        let comparison = try await BlackboxComparison(Self.modules.replacing("CA", with: authority.certificate))
        defer { comparison.stop() }
        for (module, host) in [
            ("tls", "127.0.0.1"), ("tls", "localhost"), ("tls_named", "127.0.0.1"), ("tls_insecure", "127.0.0.1"),
        ] {
            let found = try await comparison.compare(module, "\(host):\(server.port)")
            #expect(found["probe_success"] == "1" && found["probe_grpc_ssl"] == "1", "\(module) \(host)")
        }
        let calls = server.calls
        try #require(calls.count == 8)
        for number in stride(from: 0, to: 8, by: 2) {
            #expect(Self.essence(calls[number]) == Self.essence(calls[number + 1]))
        }
        for module in ["tls_system", "tls_other"] {
            try await comparison.compare(module, "127.0.0.1:\(server.port)", without: [Self.expiry])
        }
        try await comparison.compare("tls", "127.0.0.1:\(plain.port)", without: [Self.expiry])
        // What the server showed counts whatever it answered.
        let missing = try await comparison.compare(
            "tls_service", "127.0.0.1:\(server.port)", exceptValuesOf: [Self.expiry, "probe_grpc_ssl"])
        #expect(missing["probe_grpc_status_code"] == "5" && missing["probe_grpc_ssl"] == "1")
        #expect(missing[Self.expiry] == "2.3668416e+09")
    }

    private static func essence(_ call: GRPCServer.Call) -> [String] {
        call.fields.filter { !["user-agent", "grpc-timeout"].contains($0.key) }
            .map { "\($0.key): \($0.value)" }.sorted() + ["\(call.body)"]
    }
}

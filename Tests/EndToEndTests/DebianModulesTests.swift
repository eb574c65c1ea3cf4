import Foundation
import Testing
import TidegateTestKit

/// blackbox_exporter and tidegate both run the unchanged file of modules that Debian's package installs.
@Suite(
    .enabled(if: FileManager.default.fileExists(atPath: BlackboxExporter.configuration), "there is no blackbox.yml"),
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"),
    .enabled(if: NetworkNamespace.isAvailable, "needs root"), .timeLimit(.minutes(5))
)
struct DebianModulesTests {
    @Test("Every module is a success with a server that is as it asks, and has every series of blackbox_exporter")
    func modules() async throws {
        let modules = try String(contentsOfFile: BlackboxExporter.configuration, encoding: .utf8)
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost", "IP:127.0.0.1"])
        let page = try LiveServer { _ in .respond(text: "ok") }
        defer { page.stop() }
        let silent = try await ScriptedServer([.hang])
        // In RE2 "^+OK" is any number of beginnings before OK.
        let mail = try await ScriptedServer(
            [.startTLS, .send("+OK ready\r\nOK\r\n"), .hang], identity: identity)
        let shell = try await ScriptedServer([.send("SSH-2.0-OpenSSH_9.2\r\n"), .readLine])
        let chat = try await ScriptedServer([
            .readLine, .readLine, .send("PING :irc.test\r\n"), .readLine, .send(":irc.test 001 prober :Welcome\n"),
        ])
        let encrypted = try await GRPCServer(identity: identity) { _ in .health(1) }
        let plain = try await GRPCServer { $0.body.count > 5 ? .health(1) : .status("5") }
        // The modules say nothing of authorities, so that this one has to be the system's.
        let comparison = try await BlackboxComparison(
            modules, environment: ["SSL_CERT_FILE": authority.certificate])
        defer { comparison.stop() }
        let targets = [
            "http_2xx": page.url(), "http_post_2xx": page.url(), "tcp_connect": "127.0.0.1:\(silent.port)",
            "pop3s_banner": "127.0.0.1:\(mail.port)", "grpc": "127.0.0.1:\(encrypted.port)",
            "grpc_plain": "127.0.0.1:\(plain.port)", "ssh_banner": "127.0.0.1:\(shell.port)",
            "irc_banner": "127.0.0.1:\(chat.port)", "icmp": "127.0.0.1", "icmp_ttl5": "127.0.0.1",
        ]
        let names = modules.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .map { String($0.dropFirst(2).dropLast()) }
        #expect(Set(names) == Set(targets.keys))
        for (module, target) in targets {
            // Version 0.23 has it at 0 without TLS, later ones not at all.
            let missing = module == "grpc_plain" ? ["probe_ssl_earliest_cert_expiry"] : []
            let found = try await comparison.compare(module, target, without: missing)
            #expect(found["probe_success"] == "1", "\(module)")
        }
        #expect(page.requests.map(\.method).sorted() == ["GET", "GET", "POST", "POST"])
        #expect(plain.calls.map(\.body) == [Self.request, Self.request])
    }

    // A HealthCheckRequest about service1.
    private static let request = [0, 0, 0, 0, 10, 0x0A, 8] + Array("service1".utf8)
}

import Foundation
import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

@Suite(.timeLimit(.minutes(5)))
struct UnixProbeTests {
    private let folder = URL(fileURLWithPath: "/tmp").appendingPathComponent("tg-\(UUID().uuidString.prefix(8))").path
    private var path: String { self.folder + "/s" }

    private func probe(
        _ target: String, _ change: (inout StreamProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        let module = ProbeModule(prober: .unix(try .with(change)), timeout: .seconds(20))
        return try await ProbeFixture(module: module).probe(target)
    }

    @Test("A dialogue over a Unix socket has no series about addresses")
    func dialogue() async throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let server = try await ScriptedServer([.readLine, .send("+PONG\r\n")], path: self.path)
        defer { withExtendedLifetime(server) {} }
        let report = try await self.probe(self.path) { $0.dialogue = [.send("PING"), try .expect("^[+]PONG$")] }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(server.lines == ["PING"])
        let names = report.families.map(\.name)
        #expect(!names.contains { $0.hasPrefix("probe_ip") || $0.hasPrefix("probe_dns") || $0.hasPrefix("probe_tcp") })
        #expect(names.contains("probe_unix_duration_seconds") && names.contains("probe_failed_due_to_bytes"))
        let other = try await self.probe(self.path) { $0.dialogue = [.send("PING"), try .expect("OK")] }
        #expect(other.failure?.reason == "response" && other.value("probe_failed_due_to_regex") == 1)
    }

    @Test("What keeps a probe from a socket is its program's failure, or that of this host's rights and configuration")
    func failures() async throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        func expect(_ party: FaultParty, _ text: String, at path: String) async throws {
            let report = try await self.probe(path)
            #expect(report.failure?.reason == "connect_failed" && report.failure?.party == party)
            #expect(report.failure?.text == text)
            #expect(report.duration < .seconds(20), "what the kernel refuses takes no time")
        }
        try await expect(
            .theirs, "the socket does not exist: the program that creates it is not running", at: self.path)
        let left = try LocalSocket(.stream, at: self.folder + "/left", backlog: nil)
        try await expect(.theirs, "no program listens at the socket", at: self.folder + "/left")
        let datagrams = try LocalSocket(.datagram, at: self.folder + "/datagrams", backlog: nil)
        try await expect(.mine, "the socket is for datagrams, and not for connections", at: self.folder + "/datagrams")
        let full = try LocalSocket(.stream, at: self.folder + "/full", backlog: 0)
        let fillers = try full.filled()
        try await expect(
            .theirs, "the program at the socket accepts no connections, and its backlog is full",
            at: self.folder + "/full")
        try await expect(.mine, "a part of the path is not a directory", at: self.folder + "/full/s")
        withExtendedLifetime((left, datagrams, full, fillers)) {}
        let long = try await self.probe("/" + String(repeating: "a", count: 200))
        #expect(long.failure?.reason == "invalid_target")
    }

    @Test("TLS over a Unix socket is for the module's name", .enabled(if: TestAuthority.isAvailable))
    func tls() async throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let authority = try await TestAuthority()
        let server = try await ScriptedServer(
            [.startTLS, .send("hello\n"), .hang], path: self.path, identity: try await authority.sign(["tide.test"]))
        func probe(_ name: String) async throws -> ProbeReport {
            try await self.probe(self.path) {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
                $0.tls.serverName = name
                $0.dialogue = [try .expect("hello")]
            }
        }
        #expect(try await probe("tide.test").value("probe_success") == 1)
        #expect(try await probe("other.test").failure?.reason == "tls_failed")
        withExtendedLifetime(server) {}
    }
}

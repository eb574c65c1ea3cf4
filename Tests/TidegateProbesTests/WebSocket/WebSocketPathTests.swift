import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

/// What the prober websocket knows of its own network, and where it must not go.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketPathTests {
    private static let noCarrier = Verdict(level: .none, reason: .noCarrier)

    @Test("Without a path a probe ends at once; a path that is lost meanwhile gates it, too")
    func gated() async throws {
        let far = try #require(IPAddress("192.0.2.1"))
        let report = try await WebSocketProbing.probe(
            "ws://far.test/", names: ["far.test": [far]],
            on: .init { _ in Self.noCarrier })
        #expect(report.isGated && report.failure?.reason == "no_path" && report.failure?.party == .mine)
        #expect(report.phases(of: "websocket") == ["resolve"] && report.webSocket == [0, 0, 0])
        let latch = Latch()
        let server = try await ScriptedServer([.readLine, .hang])
        let lost = try await WebSocketProbing.probe(
            "ws://tide.test:\(server.port)/", timeout: .seconds(3),
            on: .init { _ in
                // Asked once before the connection.
                defer { latch.open() }
                return latch.isOpen ? Self.noCarrier : Verdict(level: .routed, reason: nil)
            })
        #expect(lost.isGated && lost.failure?.text == "the path to 127.0.0.1 was lost: eth0 has no carrier")
    }

    @Test("Addresses that must not be probed are not connected to")
    func denied() async throws {
        let server = try await WebSocketServer([.read])
        let policy = ProbeTargetPolicy(deny: [.host("tide.test")])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)/", targets: policy)
        #expect(report.failure?.reason == "target_denied" && server.requests.isEmpty)
        let metadata = try await WebSocketProbing.probe("ws://169.254.169.254/")
        #expect(metadata.failure?.reason == "target_denied")
    }

    @Test("A refused connection and an unexplained failure have different causes")
    func parties() async throws {
        let port = try FreePort.find()
        let refused = try await WebSocketProbing.probe("ws://127.0.0.1:\(port)/")
        #expect(refused.failure?.reason == "connect_failed" && refused.failure?.party == .mine)
        #expect(refused.failure?.text == "127.0.0.1 refused the connection")
        let outage = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "eth0", lastConfirmed: nil))
        let unresolved = try await WebSocketProbing.probe("ws://nowhere.test/", on: .init(cause: outage))
        #expect(unresolved.failure?.reason == "resolve_failed" && unresolved.phases(of: "websocket") == ["resolve"])
    }

    @Test("Of a name with both families the one that is routed is taken")
    func family() async throws {
        let server = try await WebSocketServer([.read, .read])
        let six = try #require(IPAddress("2001:db8::1"))
        let names = ["both.test": [six, ProbeFixture.loopback]]
        let report = try await WebSocketProbing.probe(
            "ws://both.test:\(server.port)/", names: names,
            on: .init { $0.family == .ipv6 ? Self.noCarrier : .unknown })
        #expect(report.value("probe_success") == 1 && report.value("probe_ip_protocol") == 4)
        let strict = try await WebSocketProbing.probe(
            "ws://four.test:\(server.port)/", names: ["four.test": [ProbeFixture.loopback]]
        ) { $0.family = FamilyPreference(.ipv6, allowsFallback: false) }
        #expect(strict.failure?.reason == "resolve_failed")
    }
}

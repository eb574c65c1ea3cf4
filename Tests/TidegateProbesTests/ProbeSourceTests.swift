import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateSession
import TidegateTestKit

/// `source_ip_address` and `source_interface` of the probers `http` and `tcp`.
@Suite(.timeLimit(.minutes(5)))
struct ProbeSourceTests {
    private static let probers: [ProbeModule.Prober] = [.http(), .tcp()]
    private static let lost = Verdict(level: .none, reason: .noCarrier)

    private static func probe(
        _ prober: ProbeModule.Prober, _ target: String, timeout: Duration = .seconds(20), path: Verdict = .unknown,
        from address: String? = nil, by interface: String? = nil, isRouted: Bool = true,
        _ change: (inout HTTPProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        var source = ProbeSource()
        (source.address, source.interface) = (address.flatMap { IPAddress($0) }, interface)
        let prober: ProbeModule.Prober =
            if case .tcp = prober {
                .tcp(try .with { ($0.source, $0.dialogue) = (source, [.send("GET /"), try .expect("200")]) })
            } else {
                .http(
                    try .with {
                        $0.source = source
                        try change(&$0)
                    })
            }
        let module = ProbeModule(prober: prober, timeout: timeout)
        let both = [IPAddress("::1"), IPAddress("127.0.0.1")].compactMap { $0 }
        return try await ProbeFixture(
            names: ["both.test": both], path: { _ in path }, module: module, isRouted: isRouted
        )
        .probe(target)
    }

    private static func server(_ head: String = "200 OK\r\n") async throws -> ScriptedServer {
        try await ScriptedServer([.readLine, .send("HTTP/1.1 \(head)Content-Length: 2\r\n\r\nok")])
    }

    @Test("Connections come from the address, whose family decides which of the target's is taken", arguments: probers)
    func address(_ prober: ProbeModule.Prober) async throws {
        let server = try await Self.server()
        for target in ["127.0.0.1:\(server.port)", "both.test:\(server.port)"] {
            let report = try await Self.probe(prober, target, from: "127.0.0.9")
            #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
            #expect(report.value("probe_ip_protocol") == 4)
        }
        #expect(server.peers == ["127.0.0.9", "127.0.0.9"])
        let foreign = try await Self.probe(prober, "127.0.0.1:\(server.port)", from: "192.0.2.77")
        #expect(foreign.failure?.text == "this host does not have the source address 192.0.2.77")
        #expect(foreign.value("probe_failure_info", "connect_failed", "mine") == 1)
        #expect(foreign.isOutage)
        // A service of this host that does not run is the target's own failure.
        let missing = try await Self.probe(prober, "127.0.0.77:9")
        #expect(missing.failure?.reason == "connect_failed" && !missing.isOutage, "\(missing.failure as Any)")
        let other = try await Self.probe(prober, "127.0.0.1:\(server.port)", from: "::1")
        #expect(other.failure?.reason == "resolve_failed" && other.failure?.party == .mine)
        #expect(server.peers.count == 2)
    }

    @Test("Without a route by its interface a probe is gated, and sends nothing", arguments: probers)
    func withoutRoute(_ prober: ProbeModule.Prober) async throws {
        let server = try await Self.server()
        let report = try await Self.probe(prober, "127.0.0.1:\(server.port)", by: "lo", isRouted: false)
        #expect(report.isGated && report.failure?.party == .mine, "\(report)")
        #expect(server.peers.isEmpty)
    }

    @Test("Over IPv6, too", arguments: probers)
    func ipv6(_ prober: ProbeModule.Prober) async throws {
        let server = try await ScriptedServer(
            [.readLine, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")], address: "::1")
        let report = try await Self.probe(prober, "both.test:\(server.port)", from: "::1", by: "lo")
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(server.peers == ["::1"])
        let foreign = try await Self.probe(prober, "both.test:\(server.port)", from: "2001:db8::77")
        #expect(foreign.failure?.text == "this host does not have the source address 2001:db8::77")
    }

    @Test("Packets leave by the interface, whatever the routes say", arguments: probers)
    func interface(_ prober: ProbeModule.Prober) async throws {
        let server = try await Self.server()
        let target = "127.0.0.1:\(server.port)"
        let bound = try await Self.probe(prober, target, path: Self.lost, by: "lo")
        #expect(bound.value("probe_success") == 1, "\(bound.failure as Any)")
        let routed = try await Self.probe(prober, target, path: Self.lost)
        #expect(routed.isGated && server.peers.count == 1)
        // The loopback interface leads to no other host.
        let away = try await Self.probe(prober, "[2001:db8:7::1]:80", by: "lo")
        #expect(away.isGated && away.failure?.text == "no path to 2001:db8:7::1 by lo: no route")
        #expect(away.value("probe_failure_info", "no_path", "mine") == 1)
        let missing = try await Self.probe(prober, target, by: "nowhere7")
        #expect(missing.failure?.text == "there is no interface nowhere7")
        #expect(missing.value("probe_failure_info", "connect_failed", "mine") == 1)
    }

    @Test("A link-local address needs a zone or an interface, where there is another address")
    func zones() throws {
        let addresses = try ["fe80::1", "fe80::1%1", "169.254.1.1", "::1"].map { try #require(IPAddress($0)) }
        var bound = ProbeSource()
        bound.interface = "lo"
        #expect(bound.usable(addresses) == addresses)
        #expect(ProbeSource().usable(addresses) == Array(addresses.dropFirst()))
        #expect(ProbeSource().usable(Array(addresses.prefix(1))) == Array(addresses.prefix(1)))
    }

    @Test("Silence on the interface is no loss of a path that is not used", arguments: probers)
    func silence(_ prober: ProbeModule.Prober) async throws {
        let server = try await ScriptedServer([.hang])
        let target = "127.0.0.1:\(server.port)"
        let bound = try await Self.probe(
            prober, target, timeout: .milliseconds(500), path: Self.lost, by: "lo")
        #expect(bound.failure?.reason == "timed_out" && !bound.isGated, "\(bound.failure as Any)")
    }

    @Test("Redirects, proxies and servers of tokens are asked from the same address")
    func all() async throws {
        let last = try await Self.server()
        let first = try await Self.server("302 Found\r\nLocation: http://both.test:\(last.port)/\r\n")
        let redirected = try await Self.probe(.http(), "127.0.0.1:\(first.port)", from: "127.0.0.9", by: "lo")
        #expect(redirected.value("probe_success") == 1, "\(redirected.failure as Any)")
        #expect(first.peers == ["127.0.0.9"] && last.peers == ["127.0.0.9"])
        // The target's own address may be of any family then.
        let proxied = try await Self.probe(.http(), "http://[2001:db8:7::1]/", from: "127.0.0.9") {
            $0.proxy = ProxyPolicy("http://both.test:\(last.port)")
        }
        #expect(proxied.value("probe_success") == 1, "\(proxied.failure as Any)")
        #expect(last.peers == ["127.0.0.9", "127.0.0.9"])
        let tokens = try await ScriptedServer([
            .readLine, .send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"access_token\":\"t\"}"),
        ])
        let authorized = try await Self.probe(.http(), "127.0.0.1:\(last.port)", from: "127.0.0.9") {
            var oauth2 = OAuth2Options()
            oauth2.tokenURL = try HTTPURL("http://both.test:\(tokens.port)/token")
            $0.oauth2 = oauth2
        }
        #expect(authorized.value("probe_success") == 1, "\(authorized.failure as Any)")
        #expect(tokens.peers == ["127.0.0.9"] && last.peers.count == 3)
        let other = try await Self.probe(.http(), "http://tide.test/", from: "127.0.0.9") {
            $0.proxy = ProxyPolicy("http://[::1]:\(last.port)")
        }
        #expect(other.failure?.text == "::1 has no IPv4 address, and source_ip_address allows no other")
    }
}

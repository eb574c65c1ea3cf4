import Glibc
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes
import TidegateSession
import TidegateTestKit

/// `server_name` of `tls_config`, and the field Host, for the prober `http`.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct HTTPServerNameTests {
    private static func probe(
        _ target: String, hostname: String? = nil, _ authority: TestAuthority,
        names: [String: [IPAddress]] = [:], _ change: (inout HTTPProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        let options = try HTTPProbeOptions.with {
            $0.tls.caFile = authority.certificate
            try change(&$0)
        }
        return try await ProbeFixture(options, names: names).probe(target, hostname: hostname)
    }

    @Test("The name is in the handshake and has to be in the certificate; the field Host is the target's")
    func name() async throws {
        let authority = try await TestAuthority()
        let (wrong, right) = (try await authority.sign(["wrong.test"]), try await authority.sign(["tide.test"]))
        // It shows the second certificate to those that ask for that name.
        let server = try await TestTLSServer(
            wrong, arguments: ["-servername", "tide.test", "-cert2", right.certificate, "-key2", right.key])
        let target = "https://other.test:\(server.port)/"
        let named = try await Self.probe(target, authority) { $0.tls.serverName = "tide.test" }
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
        let unnamed = try await Self.probe(target, authority)
        #expect(unnamed.failure?.reason == "tls_failed" && unnamed.failure?.party == .theirs)
        let plain = try LiveServer { _ in .respond(text: "ok") }
        defer { plain.stop() }
        let front = try await TLSFront(right, to: plain.port)
        let report = try await Self.probe("https://other.test:\(front.port)/a?b", authority) {
            $0.tls.serverName = "tide.test"
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(plain.requests.map { $0.field("host") } == ["other.test:\(front.port)"])
        #expect(plain.requests.map(\.path) == ["/a?b"])
    }

    @Test("An address is not sent in the handshake, and has to be in the certificate")
    func address() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test", "IP:192.0.2.9", "IP:2001:db8::9"]))
        for target in ["https://other.test:\(server.port)/", "https://127.0.0.1:\(server.port)/"] {
            for address in ["192.0.2.9", "2001:db8::9"] {
                let report = try await Self.probe(target, authority) { $0.tls.serverName = address }
                #expect(report.value("probe_success") == 1, "\(target) \(address): \(report.failure as Any)")
            }
            let other = try await Self.probe(target, authority) { $0.tls.serverName = "192.0.2.8" }
            #expect(other.failure?.reason == "tls_failed" && other.failure?.party == .theirs)
        }
        let named = try await Self.probe("https://127.0.0.1:\(server.port)/", authority) {
            $0.tls.serverName = "tide.test"
        }
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
    }

    @Test("The field Host stands in for a name that is not given: without its final dot, without its port")
    func host() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test", "IP:192.0.2.9"]))
        for host in ["tide.test.", "tide.test:8443", "192.0.2.9"] {
            let report = try await Self.probe("https://other.test:\(server.port)/", hostname: host, authority)
            #expect(report.value("probe_success") == 1, "\(host): \(report.failure as Any)")
        }
        let other = try await Self.probe("https://tide.test:\(server.port)/", hostname: "192.0.2.8", authority)
        #expect(other.failure?.reason == "tls_failed")
    }

    @Test(
        "A proxy is asked for the target; the name is for the target's handshake, not for that of the proxy",
        .enabled(if: ProxyServer.isAvailable, "python3(1) is not installed"),
        arguments: ["http", "https", "socks5h"])
    func proxy(_ scheme: String) async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test", "IP:192.0.2.9"]))
        let identity = scheme == "https" ? try await authority.sign(["IP:127.0.0.1"]) : nil
        let proxy = try await ProxyServer(identity: identity)
        for name in ["tide.test", "192.0.2.9"] {
            let report = try await Self.probe("https://other.test:\(server.port)/", authority) {
                $0.proxy = ProxyPolicy("\(scheme)://127.0.0.1:\(proxy.port)")
                $0.tls.serverName = name
            }
            #expect(report.value("probe_success") == 1, "\(name): \(report.failure as Any)")
        }
        let request = "\(scheme == "socks5h" ? "socks5" : "http") other.test:\(server.port)"
        #expect(proxy.requests == [request, request])
        let unnamed = try await Self.probe("https://other.test:\(server.port)/", authority) {
            $0.proxy = ProxyPolicy("\(scheme)://127.0.0.1:\(proxy.port)")
        }
        #expect(unnamed.failure?.reason == "tls_failed")
    }

    @Test(
        "The name holds where the same server redirects from http to https, and for no other server",
        .enabled(if: geteuid() == 0, "needs ports that only root may take"))
    func redirects() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["tide.test"])
        let plain = try LiveServer { _ in .respond(text: "ok") }
        defer { plain.stop() }
        // Ports that URLs leave out.
        let site = try LiveServer(address: "127.7.7.7", port: 80) { request in
            .respond(302, ["Location: https://\(request.path == "/away" ? "other" : "site").test/"])
        }
        defer { site.stop() }
        let front = try await TLSFront(identity, to: plain.port, address: ("127.7.7.7", 443))
        #expect(front.port == 443)
        let names = ["site.test", "other.test"].map { ($0, [IPAddress(ipv4: 0x7F07_0707)]) }
        for (path, isNamed) in [("", true), ("away", false)] {
            let report = try await Self.probe(
                "http://site.test/\(path)", authority, names: Dictionary(uniqueKeysWithValues: names)
            ) { $0.tls.serverName = "tide.test" }
            #expect(report.value("probe_success") == (isNamed ? 1 : 0), "\(report.failure as Any)")
            #expect(isNamed || report.failure?.reason == "tls_failed")
        }
        #expect(plain.requests.map { $0.field("host") } == ["site.test"])
    }

    @Test("A server of tokens may have a name of its own")
    func tokens() async throws {
        let authority = try await TestAuthority()
        let plain = try LiveServer { request in
            .respond(text: request.path == "/token" ? #"{"access_token": "t"}"# : "ok")
        }
        defer { plain.stop() }
        let front = try await TLSFront(try await authority.sign(["tide.test"]), to: plain.port)
        let report = try await Self.probe("http://tide.test:\(plain.port)/", authority) {
            var oauth2 = OAuth2Options()
            oauth2.tokenURL = try HTTPURL("https://other.test:\(front.port)/token")
            oauth2.tls.caFile = authority.certificate
            oauth2.tls.serverName = "tide.test"
            $0.oauth2 = oauth2
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(plain.requests.map { $0.field("host") } == ["other.test:\(front.port)", "tide.test:\(plain.port)"])
        #expect(plain.requests.last?.field("authorization") == "Bearer t")
    }
}

import HTTPTypes
import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// Where the credentials of modules go, and who may send them.
@Suite(.timeLimit(.minutes(5)))
struct ModuleCredentialTests {
    private static let basic = HTTPProbeOptions.with {
        $0.authorization = .basic(user: .text("u"), password: .text("p"))
    }

    private static func module(
        _ prober: ProbeModule.Prober, _ change: (inout ProbeModule) -> Void = { _ in }
    ) -> ProbeModule {
        var module = ProbeModule(prober: prober)
        change(&module)
        return module
    }

    private static let secret = SecretHeader(name: "X-Api-Key", value: .text("k"))

    /// Modules with credentials of each kind.
    static let withCredentials: [ProbeModule] = [
        module(.http) { $0.http = basic },
        module(.http) { $0.http.authorization = .token(scheme: "Bearer", .file("/token")) },
        module(.http) { $0.http.oauth2 = OAuth2Options() }, module(.http) { $0.http.tls.certificateFile = "/c.pem" },
        module(.http) { $0.http.secretHeaders = [secret] },
        module(.http) { $0.http.headers = [HTTPField(name: .cookie, value: "a=b")] },
        module(.websocket) { $0.websocket.authorization = .basic(user: .text("u"), password: .text("p")) },
        module(.websocket) { $0.websocket.secretHeaders = [secret] },
        module(.websocket) { $0.websocket.tls.certificate = "PEM" },
        module(.grpc) { $0.grpc.metadata = [HTTPField(name: .authorization, value: "t")] },
        module(.tcp) { $0.tcp.tls.certificateFile = "/c.pem" }, module(.dns) { $0.dns.tls.certificateFile = "/c.pem" },
    ]

    @Test("A module with credentials of any kind is refused to whom may be a web page", arguments: withCredentials)
    func refused(_ module: ProbeModule) async throws {
        let fixture = ProbeFixture(module: module)
        await #expect(throws: ProbeRefusal.credentials(module: "m")) {
            try await fixture.probe("127.0.0.1:1", isTrusted: false)
        }
    }

    @Test(
        "A module without credentials is open to every client",
        arguments: [
            module(.http) {
                $0.http.headers = [HTTPField(name: .accept, value: "*/*")]
                $0.http.secretHeaders = [SecretHeader(name: "Host", value: .text("a.example"))]
                $0.http.tls.caFile = "/ca.pem"
            }, module(.tcp), module(.icmp), module(.unix), module(.grpc), module(.dns), module(.websocket),
        ])
    func free(_ module: ProbeModule) { #expect(!module.hasCredentials) }

    @Test("Credentials go to the hosts of probe_credentials for every client, and nowhere else")
    func hosts() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = ProbeFixture(Self.basic, credentials: ["m": [.host("tide.*")]])
        for isTrusted in [false, true] {
            let allowed = try await fixture.probe("http://tide.test:\(server.port)/", isTrusted: isTrusted)
            #expect(allowed.value("probe_success") == 1)
            for host in ["other.test", "127.0.0.1"] {
                let denied = try await fixture.probe("http://\(host):\(server.port)/", isTrusted: isTrusted)
                #expect(denied.failure?.reason == "target_denied" && denied.failure?.party == .mine)
                #expect(
                    denied.failure?.text
                        == "the credentials of module m must not go to \(host): probe_credentials does not name it")
            }
        }
        #expect(server.requests.map { $0.field("authorization") } == ["Basic dTpw", "Basic dTpw"])
        let byNetwork = ProbeFixture(
            Self.basic, credentials: ["m": [.network(try IPPrefix(parsing: "127.0.0.0/8"))]])
        #expect(try await byNetwork.probe(server.url(), isTrusted: false).value("probe_success") == 1)
        let nowhere = ProbeFixture(Self.basic, credentials: ["m": []])
        #expect(try await nowhere.probe(server.url()).failure?.reason == "target_denied")
    }

    @Test("A scheduled probe keeps to the hosts of probe_credentials")
    func scheduled() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = ProbeFixture(Self.basic, credentials: ["m": [.host("tide.test")]])
        var probe = ScheduledProbe()
        (probe.module, probe.every) = ("m", .seconds(60))
        for (host, reason) in [("tide.test", nil), ("other.test", "target_denied")] as [(String, String?)] {
            probe.target = "http://\(host):\(server.port)/"
            #expect(try #require(await fixture.runner.run(probe)).failure?.reason == reason)
        }
    }

    @Test("A redirect to another origin needs no entry, and gets no credentials")
    func redirect() async throws {
        let server = try LiveServer { request in
            request.path == "/"
                ? .respond(
                    302, ["Location: http://other.test:\(request.field("host")?.split(separator: ":").last ?? "")/x"])
                : .respond(text: "ok")
        }
        defer { server.stop() }
        let fixture = ProbeFixture(Self.basic, credentials: ["m": [.host("tide.test")]])
        let report = try await fixture.probe("http://tide.test:\(server.port)/")
        #expect(report.value("probe_success") == 1)
        #expect(server.requests.map { $0.field("authorization") } == ["Basic dTpw", nil])
    }

    @Test(
        "A listener of this process gets neither credentials nor a POST, by whatever name; a plain GET is answered",
        arguments: ["127.0.0.1", "localhost", "tide.test", "0.0.0.0", "[::ffff:127.0.0.1]"])
    func ownListener(_ host: String) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let names = ["localhost": [ProbeFixture.loopback]]
        let url = "http://\(host):\(server.port)/-/reload"
        for (options, what) in [
            (Self.basic, "the credentials of module m"),
            (.with { $0.method = "POST" }, "requests that change something"),
        ] {
            let fixture = ProbeFixture(options, names: names)
            fixture.runner.listens(on: [server.port])
            let report = try await fixture.probe(url)
            #expect(report.failure?.reason == "target_denied")
            #expect(
                report.failure?.text
                    == "\(what) must not go to port \(server.port) of this host, on which tidegate itself listens")
        }
        #expect(server.requests.isEmpty)
        let plain = ProbeFixture(names: names)
        plain.runner.listens(on: [server.port])
        #expect(try await plain.probe(url).value("probe_success") == 1)
    }

    @Test("A redirect cannot lead a POST to a listener of this process")
    func ledToListener() async throws {
        let own = try LiveServer { _ in .respond(text: "ok") }
        defer { own.stop() }
        let evil = try LiveServer { _ in .respond(307, ["Location: \(own.url("/-/reload"))"]) }
        defer { evil.stop() }
        let fixture = ProbeFixture(.with { $0.method = "POST" })
        fixture.runner.listens(on: [own.port])
        #expect(try await fixture.probe(evil.url()).failure?.reason == "target_denied")
        #expect(evil.requests.count == 1 && own.requests.isEmpty)
    }

    @Test("An address of this host on another link is this host, too")
    func ownAddress() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let elsewhere = try #require(IPAddress("192.0.2.7"))
        let fixture = ProbeFixture(
            Self.basic, names: ["me.test": [elsewhere]],
            path: { _ in Verdict(level: .routed, notes: [.thisHost]) })
        fixture.runner.listens(on: [server.port])
        #expect(try await fixture.probe("http://me.test:\(server.port)/").failure?.reason == "target_denied")
    }
}

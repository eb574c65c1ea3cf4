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

    private static let secret = SecretHeader(name: "X-Api-Key", value: .text("k"))

    /// Probers with credentials of each kind.
    static let withCredentials: [ProbeModule.Prober] = [
        .http(basic), .http(.with { $0.authorization = .token(scheme: "Bearer", .file("/token")) }),
        .http(.with { $0.oauth2 = OAuth2Options() }), .http(.with { $0.tls.certificateFile = "/c.pem" }),
        .http(.with { $0.secretHeaders = [secret] }),
        .http(.with { $0.headers = [HTTPField(name: .cookie, value: "a=b")] }),
        .websocket(.with { $0.authorization = .basic(user: .text("u"), password: .text("p")) }),
        .websocket(.with { $0.secretHeaders = [secret] }), .websocket(.with { $0.tls.certificate = "PEM" }),
        .grpc(.with { $0.metadata = [HTTPField(name: .authorization, value: "t")] }),
        .tcp(.with { $0.tls.certificateFile = "/c.pem" }), .dns(.with { $0.tls.certificateFile = "/c.pem" }),
    ]

    @Test("A module with credentials of any kind is refused to whom may be a web page", arguments: withCredentials)
    func refused(_ prober: ProbeModule.Prober) async throws {
        let fixture = ProbeFixture(module: ProbeModule(prober: prober))
        await #expect(throws: ProbeRefusal.credentials(module: "m")) {
            try await fixture.probe("127.0.0.1:1", isTrusted: false)
        }
    }

    @Test(
        "A module without credentials is open to every client",
        arguments: [
            ProbeModule.Prober.http(
                .with {
                    $0.headers = [HTTPField(name: .accept, value: "*/*")]
                    $0.secretHeaders = [SecretHeader(name: "Host", value: .text("a.example"))]
                    $0.tls.caFile = "/ca.pem"
                }), .tcp(), .icmp(), .unix(), .grpc(), .dns(), .websocket(),
        ])
    func free(_ prober: ProbeModule.Prober) { #expect(!ProbeModule(prober: prober).hasCredentials) }

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

import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.enabled(if: ProxyServer.isAvailable, "python3 is not installed"), .timeLimit(.minutes(5)))
struct ProxyTests {
    private static let loopback = IPAddress(ipv4: 0x7F00_0001)

    fileprivate static func fixture(_ proxy: ProxyPolicy = .direct) throws -> SessionFixture {
        try SessionFixture(
            .with { ($0.proxy, $0.retry) = (proxy, RetryPolicy(attempts: 2, base: .milliseconds(1))) },
            resolver: ScriptedResolver(["proxy.test": [Self.loopback], "tide.test": [Self.loopback]]))
    }

    @Test("A name is looked up by the proxy, and with socks5 here", arguments: ["socks4a", "socks5h", "http"])
    func names(_ scheme: String) async throws {
        let proxy = try await ProxyServer()
        let server = try LiveServer { _ in .respond(text: "behind") }
        defer { server.stop() }
        let fixture = try Self.fixture(ProxyPolicy("\(scheme)://proxy.test:\(proxy.port)"))
        let task = fixture.run(try TaskRequest(url: "http://nowhere.test:\(server.port)/"))
        let result = await task.result()
        #expect(result.outcome == .success, "\(result)")
        let asked = "nowhere.test:\(server.port)"
        switch scheme {
        case "socks4a": #expect(proxy.requests == ["socks4 \(asked)"])
        case "http": #expect(proxy.requests == ["http http://\(asked)/"])
        default: #expect(proxy.requests == ["socks5 \(asked)"])
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "Credentials are sent to a SOCKS proxy and to one for tunnels, and are shown nowhere",
        arguments: ["socks5h", "http"])
    func credentials(_ scheme: String) async throws {
        let proxy = try await ProxyServer(user: "u:s3cret")
        let server = try LiveServer { _ in .respond(text: "behind") }
        defer { server.stop() }
        let fixture = try Self.fixture()
        for (password, isGood) in [("s3cret", true), ("wrong-s3cret", false)] {
            // A tunnel even for plain HTTP would need another option; the handshake behind it is not what is tested.
            var request = try TaskRequest(
                url: scheme == "http" ? "https://tide.test:\(server.port)/" : "http://tide.test:\(server.port)/")
            request.options.proxy = ProxyPolicy("\(scheme)://u:\(password)@proxy.test:\(proxy.port)")
            let task = fixture.run(request)
            let result = await task.result()
            if !isGood {
                #expect(result.failure == .connectFailed && result.attempts == 1, "\(result)")
                #expect(result.attribution?.party == .mine)
                #expect(
                    result.explanation?.contains(
                        "the proxy \(scheme)://proxy.test:\(proxy.port) requires other credentials") == true,
                    "\(result.explanation ?? "")")
            } else if scheme == "http" {
                #expect(result.failure == .tlsFailed || result.failure == .retriesExhausted, "\(result)")
            } else {
                #expect(result.outcome == .success, "\(result)")
            }
            #expect(!"\(result) \(fixture.recorder.events)".contains("s3cret"))
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A proxy that denies, cannot connect, closes or hangs is named, with whose it is",
        arguments: ["http", "socks5h"], [ProxyServer.Manner.deny, .unreachable, .close, .hang])
    func failures(_ scheme: String, _ manner: ProxyServer.Manner) async throws {
        let proxy = try await ProxyServer(manner)
        let fixture = try Self.fixture(ProxyPolicy("\(scheme)://proxy.test:\(proxy.port)"))
        var request = try TaskRequest(url: "https://tide.test/")
        request.options.connectTimeout = .seconds(1)
        let result = await fixture.run(request).result()
        #expect(result.outcome == .failure)
        #expect(result.explanation?.contains("the proxy \(scheme)://proxy.test:\(proxy.port)") == true, "\(result)")
        #expect(result.attempts == (manner == .deny ? 1 : 2), "\(result)")
        #expect(result.attribution?.party == (manner == .deny ? .mine : .theirs), "\(result)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    /// A reply of a SOCKS proxy; `PROXY` in the text is the proxy.
    struct Reply: Sendable {
        var scheme = "socks5h"
        let number: Int
        let text: String
        let party: FaultParty
        var isFinal = false

        static let all = [
            Reply(number: 1, text: "PROXY reports a general failure", party: .unknown),
            Reply(
                number: 2, text: "the rules of PROXY do not allow the connection to tide.test", party: .mine,
                isFinal: true),
            Reply(number: 3, text: "PROXY cannot reach the network of tide.test", party: .path),
            Reply(number: 4, text: "PROXY cannot reach the host tide.test", party: .theirs),
            Reply(number: 5, text: "tide.test refused the connection from PROXY", party: .theirs),
            Reply(number: 6, text: "packets from PROXY to tide.test expired on their way", party: .path),
            Reply(number: 7, text: "PROXY does not support outgoing connections", party: .mine, isFinal: true),
            Reply(
                number: 8, text: "PROXY does not support this type of address; use socks5", party: .mine,
                isFinal: true),
            Reply(number: 9, text: "PROXY made no connection", party: .unknown),
            Reply(
                scheme: "socks4a", number: 91,
                text: "PROXY rejected the connection to tide.test, or could not make it", party: .unknown),
            Reply(
                scheme: "socks4a", number: 92, text: "PROXY requires an identd on this host, and reaches none",
                party: .mine, isFinal: true),
            Reply(
                scheme: "socks4a", number: 93, text: "PROXY finds another user in the identd of this host",
                party: .mine, isFinal: true),
        ]
    }

    @Test("Each reply of a SOCKS proxy has its own sentence and party", arguments: Reply.all)
    func replies(_ reply: Reply) async throws {
        let proxy = try await ProxyServer(reply: reply.number)
        let fixture = try Self.fixture(ProxyPolicy("\(reply.scheme)://proxy.test:\(proxy.port)"))
        let result = await fixture.run(try TaskRequest(url: "http://tide.test/")).result()
        let text = reply.text.replacing("PROXY", with: "the proxy \(reply.scheme)://proxy.test:\(proxy.port)")
        #expect(result.explanation?.contains(text) == true, "\(result)")
        #expect(result.attribution?.party == reply.party, "\(result)")
        #expect(result.attempts == (reply.isFinal ? 1 : 2), "\(result)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A proxy that refuses connections is named")
    func refused() async throws {
        let free = try LiveServer { _ in .respond() }
        free.stop()
        let fixture = try Self.fixture(ProxyPolicy("http://proxy.test:\(free.port)"))
        let result = await fixture.run(try TaskRequest(url: "http://tide.test/")).result()
        #expect(
            result.explanation?.contains("(through the proxy http://proxy.test:\(free.port))") == true, "\(result)")
        #expect(
            result.attribution?.evidence == ["the proxy http://proxy.test:\(free.port) refused the connection"])
        #expect(result.attribution?.party == .mine, "nothing listens on this host")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A name of a proxy that does not exist is the proxy's")
    func unknownName() async throws {
        let fixture = try Self.fixture(ProxyPolicy("http://no-proxy.test:3128"))
        var request = try TaskRequest(url: "http://tide.test/")
        request.options.retry = RetryPolicy.never
        let result = await fixture.run(request).result()
        #expect(
            result.attribution?.evidence == [
                "the resolver says that the name of the proxy http://no-proxy.test:3128 has no address"
            ], "\(result)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A proxy that speaks TLS has to prove who it is", .enabled(if: TestAuthority.isAvailable))
    func https() async throws {
        let authority = try await TestAuthority()
        let proxy = try await ProxyServer(identity: authority.sign(["proxy.test"]))
        let stranger = try await ProxyServer(identity: authority.sign(["other.test"]))
        let fixture = try Self.fixture(ProxyPolicy("https://proxy.test:\(proxy.port)"))
        var request = try TaskRequest(url: "http://tide.test/")
        request.options.retry = RetryPolicy.never
        request.options.tls = ServerTrustPolicy(caFile: authority.certificate)
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        #expect(String(decoding: task.body(), as: UTF8.self) == "by proxy")
        #expect(proxy.requests == ["http http://tide.test/"])

        request.options.proxy = ProxyPolicy("https://proxy.test:\(stranger.port)")
        let result = await fixture.run(request).result()
        #expect(result.failure == .tlsFailed && stranger.requests.isEmpty, "\(result)")
        #expect(result.explanation?.contains("the proxy https://proxy.test:\(stranger.port)") == true, "\(result)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    /// An https proxy and a server behind it, with certificates of two authorities.
    private struct Pair {
        let (near, far): (TestAuthority, TestAuthority)
        let (proxyIdentity, serverIdentity): (TestAuthority.Identity, TestAuthority.Identity)
        let proxy: ProxyServer
        let server: TestTLSServer
        let scratch: Scratch

        init() async throws {
            (self.near, self.far) = (try await TestAuthority(), try await TestAuthority(named: "Far Authority"))
            self.proxyIdentity = try await self.near.sign(["proxy.test"])
            self.serverIdentity = try await self.far.sign(["tide.test"])
            self.proxy = try await ProxyServer(identity: self.proxyIdentity)
            self.server = try await TestTLSServer(self.serverIdentity)
            self.scratch = try Scratch()
            _ = try await self.file("authorities", of: [self.near.certificate, self.far.certificate])
        }

        var name: String { "https://proxy.test:\(self.proxy.port)" }

        /// A file with the contents of others.
        func file(_ name: String, of parts: [String]) async throws -> String {
            try await Program.expect(["sh", "-c", "cat \(parts.joined(separator: " ")) > \(self.scratch.file(name))"])
            return self.scratch.file(name)
        }

        /// The end of a request to the server through the proxy, with a list of revoked certificates.
        func result(_ revocations: String, scheme: String = "https") async throws -> TaskResult {
            let fixture = try ProxyTests.fixture(ProxyPolicy(self.name))
            var request = try TaskRequest(url: "\(scheme)://tide.test:\(self.server.port)/")
            var policy = ServerTrustPolicy(caFile: self.scratch.file("authorities"))
            policy.crlFile = revocations
            request.options.tls = policy
            let result = await fixture.run(request).result()
            await fixture.session.invalidate(cancellingTasks: true)
            return result
        }
    }

    @Test(
        "A CRL file that cannot be used with an https proxy is this host's failure",
        .enabled(if: TestAuthority.isAvailable), arguments: ["http", "https"])
    func unusableList(_ scheme: String) async throws {
        let pair = try await Pair()
        let (near, far) = (try await pair.near.revocationList(), try await pair.far.revocationList())
        let old = try await pair.near.revocationList(days: 0)
        let both = try await pair.file("both", of: [near, far])
        #expect(try await pair.result(both, scheme: scheme).outcome == .success)
        let requests = pair.proxy.requests.count
        for (file, problem) in [
            (old, "its CRL has expired"), (far, "it has no CRL from an issuer in the chain"),
            (pair.proxyIdentity.certificate, "it has no CRL in PEM form"), ("/nosuch.crl", "No such file or directory"),
        ] {
            let result = try await pair.result(file, scheme: scheme)
            #expect(result.failure == .fileError && result.attempts == 1, "\(result)")
            #expect(result.attribution?.party == .mine, "\(result)")
            #expect(result.explanation == "the CRL file \(file) cannot be used: \(problem)", "\(result)")
        }
        #expect(pair.proxy.requests.count == requests, "a proxy that was not verified was asked")
    }

    @Test(
        "A revoked certificate of an https proxy is the proxy's failure, and one of the server behind it the server's",
        .enabled(if: TestAuthority.isAvailable))
    func revocation() async throws {
        let pair = try await Pair()
        let (near, far) = (try await pair.near.revocationList(), try await pair.far.revocationList())
        let revokedProxy = try await pair.near.revocationList(revoking: pair.proxyIdentity)
        let revokedServer = try await pair.far.revocationList(revoking: pair.serverIdentity)
        for scheme in ["http", "https"] {
            let result = try await pair.result(try await pair.file("proxy", of: [revokedProxy, far]), scheme: scheme)
            #expect(result.failure == .tlsFailed && result.attempts == 1, "\(result)")
            let clause = "the proxy \(pair.name) is not trusted: the certificate was revoked by its issuer"
            #expect(result.attribution?.party == .theirs && result.attribution?.evidence == [clause], "\(result)")
            #expect(result.explanation == "\(scheme)://tide.test:\(pair.server.port)/: \(clause)", "\(result)")
        }
        #expect(pair.proxy.requests.isEmpty)
        let result = try await pair.result(try await pair.file("server", of: [near, revokedServer]))
        #expect(result.failure == .tlsFailed && result.attempts == 1, "\(result)")
        #expect(result.attribution?.party == .theirs, "\(result)")
        #expect(
            result.explanation
                == "https://tide.test:\(pair.server.port)/: the certificate was revoked by its issuer (through the proxy "
                + "\(pair.name))", "\(result)")
        // The list says enough about the proxy, and nothing about the server.
        let unknown = try await pair.result(near)
        #expect(unknown.failure == .fileError && unknown.attribution?.party == .mine, "\(unknown)")
        #expect(
            unknown.explanation == "the CRL file \(near) cannot be used: it has no CRL from an issuer in the chain",
            "\(unknown)")
    }

    @Test("A task's proxies take the place of the session's, each scheme has its own, and exceptions go directly")
    func choice() async throws {
        let (one, two) = (try await ProxyServer(), try await ProxyServer())
        let server = try LiveServer { _ in .respond(text: "direct") }
        defer { server.stop() }
        let fixture = try Self.fixture(ProxyPolicy("proxy.test:\(one.port)", exceptions: ["tide.test:\(server.port)"]))
        func body(_ host: String, _ proxy: ProxyPolicy? = nil) async throws -> String {
            var request = try TaskRequest(url: "http://\(host):\(server.port)/")
            request.options.proxy = proxy
            let task = fixture.run(request)
            _ = await task.result()
            return String(decoding: task.body(), as: UTF8.self)
        }
        #expect(try await body("a.test") == "by proxy")
        #expect(try await body("tide.test") == "direct")
        #expect(try await body("127.0.0.1", .direct) == "direct")
        var own = ProxyPolicy("proxy.test:\(two.port)")
        own.https = nil
        #expect(try await body("tide.test", own) == "by proxy")
        #expect(one.requests == ["http http://a.test:\(server.port)/"])
        #expect(two.requests == ["http http://tide.test:\(server.port)/"])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

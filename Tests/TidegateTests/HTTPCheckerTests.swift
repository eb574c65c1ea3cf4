import Synchronization
import Testing
import Tidegate
import TidegateCore
import TidegateTestKit

/// Looks at servers on this host.
@Suite(.timeLimit(.minutes(5))) struct HTTPCheckerTests {
    private let checker = TransferHTTPChecker()
    private static let home = IPAddress(ipv4: 0x7F00_0001)

    private func ask(
        _ url: String, _ depth: HTTPCheckRequest.Depth, method: String = "GET", limit: Duration = .seconds(10),
        bodyLimit: Int = 0
    ) async -> HTTPCheckResult {
        await self.checker.ask(
            HTTPCheckRequest(
                url: url, address: Self.home, depth: depth, method: method, limit: limit, bodyLimit: bodyLimit))
    }

    @Test("An answer's status, Location and first bytes are told, and nothing is followed or repeated")
    func answer() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/204": .respond(204)
            case "/portal": .respond(302, ["Location: http://portal.test/login"], text: "this way")
            case "/busy": .respond(503, text: "later")
            default: .respond(text: "0123456789")
            }
        }
        defer { server.stop() }
        let good = await self.ask("http://tide.invalid:\(server.port)/", .http, bodyLimit: 4)
        #expect(good.reached == .http)
        #expect(good.failure == nil)
        #expect(good.status == 200)
        #expect(good.body == Array("0123".utf8))
        #expect(good.local == Self.home)
        #expect(good.text.isEmpty)
        #expect(good.phases.connect != nil)
        let portal = await self.ask(server.url("/portal"), .http, bodyLimit: 64)
        #expect(portal.status == 302)
        #expect(portal.failure == nil, "an answer is an answer")
        #expect(portal.location == "http://portal.test/login")
        #expect(portal.body == Array("this way".utf8))
        #expect(await self.ask(server.url("/204"), .http).status == 204)
        #expect(await self.ask(server.url("/busy"), .http).status == 503)
        #expect(server.requests.count == 4)
        #expect(server.accepted == 4, "a connection of its own each time")
        #expect(server.requests[0].field("host") == "tide.invalid:\(server.port)")
    }

    @Test("A body without end is left as soon as there is enough of it")
    func endless() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 1000000000"])), .pattern(from: 0, count: 4096),
                .hang,
            ])
        }
        defer { server.stop() }
        let answer = await self.ask(server.url(), .http, bodyLimit: 1000)
        #expect(answer.failure == nil)
        #expect(answer.body == LiveServerAnswer.bytes(count: 1000))
        #expect(await self.ask(server.url(), .http).status == 200)
    }

    @Test("A look at TCP connects, sends nothing and hangs up, whatever the scheme", arguments: ["http", "https"])
    func connection(_ scheme: String) async throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let answer = await self.ask("\(scheme)://127.0.0.1:\(server.port)/", .tcp)
        #expect(answer.reached == .tcp)
        #expect(answer.failure == nil)
        #expect(answer.local == Self.home)
        #expect(await eventually { server.accepted == 1 && server.open == 0 })
        #expect(server.requests.isEmpty)
    }

    @Test("A closed port is refused, and the words name the address")
    func refused() async throws {
        let server = try LiveServer { _ in .respond() }
        server.stop()
        withExtendedLifetime(server) {}
        let port = server.port
        let answer = await self.ask("http://tide.invalid:\(port)/", .http)
        #expect(answer.reached == .nothing)
        #expect(answer.failure == .connectFailed)
        #expect(answer.socketError == .refused)
    }

    @Test("Silence ends with the limit, at whatever depth it was met")
    func silence() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let http = await self.ask(server.url(), .http, limit: .milliseconds(200))
        #expect(http.reached == .tcp)
        #expect(http.failure == .timedOut)
        let tls = await self.ask("https://127.0.0.1:\(server.port)/", .tls, limit: .milliseconds(200))
        #expect(tls.reached == .tcp)
        #expect(tls.failure == .timedOut || tls.failure == .tlsFailed)
    }

    @Test("A task that is cancelled has its answer at once")
    func cancelled() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let (checker, url) = (self.checker, server.url())
        let task = Task { await checker.ask(HTTPCheckRequest(url: url, address: Self.home, limit: .seconds(50))) }
        #expect(await eventually { server.requests.count == 1 })
        task.cancel()
        #expect(await task.value.failure == .cancelled)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await checker.ask(HTTPCheckRequest(url: url, address: Self.home, limit: .seconds(50)))
        }
        #expect(await early.value.status == nil)
    }

    @Test("Nonsense for a URL is an answer, too")
    func nonsense() async {
        for url in ["", "ftp://tide.test/", "http://", "tide"] {
            let answer = await self.ask(url, .http)
            #expect(answer.failure == .invalidRequest, "\(url)")
            #expect(!answer.text.isEmpty, "\(url)")
        }
    }
}

/// Looks at certificates.
@Suite(.enabled(if: TestAuthority.isAvailable, "certificates need openssl(1)"), .timeLimit(.minutes(5)))
struct WebCheckerCertificateTests {
    private let authority: TestAuthority
    private let checker: TransferHTTPChecker

    init() async throws {
        self.authority = try await TestAuthority()
        self.checker = TransferHTTPChecker(caFile: self.authority.certificate)
    }

    private func ask(
        _ identity: TestAuthority.Identity, _ depth: HTTPCheckRequest.Depth = .tls, checker: TransferHTTPChecker? = nil
    ) async throws -> HTTPCheckResult {
        let server = try await TestTLSServer(identity)
        defer { withExtendedLifetime(server) {} }
        let question = HTTPCheckRequest(
            url: "https://tide.test:\(server.port)/", address: IPAddress(ipv4: 0x7F00_0001), depth: depth, bodyLimit: 64
        )
        return await (checker ?? self.checker).ask(question)
    }

    @Test("A good certificate is shown with its names and dates, and the handshake is timed")
    func good() async throws {
        let identity = try await self.authority.sign(["tide.test", "sea.test"])
        let answer = try await self.ask(identity)
        #expect(answer.reached == .tls)
        #expect(answer.failure == nil)
        #expect(answer.phases.tls != nil)
        let certificate = try #require(answer.certificate)
        #expect(certificate.subject.contains("tide.test"))
        #expect(certificate.issuer.contains("Test Authority"))
        #expect(certificate.names == ["tide.test", "sea.test"])
        #expect(certificate.notAfter == "Jan  1 00:00:00 2045 GMT")
        let http = try await self.ask(identity, .http)
        #expect(http.reached == .http)
        #expect(http.status == 200)
        #expect(http.certificate == certificate)
    }

    @Test("An expired certificate is shown with the day it ended")
    func expired() async throws {
        let answer = try await self.ask(try await self.authority.sign(["tide.test"], .past), .http)
        #expect(answer.reached == .tcp)
        #expect(answer.failure == .tlsFailed)
        #expect(answer.text == "the certificate expired on Feb  1 00:00:00 2024 GMT")
        #expect(answer.certificate?.subject.contains("tide.test") == true)
    }

    @Test("A certificate from the future is shown with the day it begins")
    func future() async throws {
        let answer = try await self.ask(try await self.authority.sign(["tide.test"], .future))
        #expect(answer.text == "the certificate is not valid yet, but from Jan  1 00:00:00 2044 GMT")
    }

    @Test("A certificate for other names says for which")
    func names() async throws {
        let answer = try await self.ask(try await self.authority.sign(["sea.test", "*.bay.test"]))
        #expect(answer.failure == .tlsFailed)
        #expect(answer.reached == .tcp)
        #expect(answer.text == "the certificate is for sea.test, *.bay.test and not for tide.test")
    }

    @Test("A certificate that nobody trusted signed names its issuer, or itself")
    func issuers() async throws {
        let alone = try await self.ask(try await self.authority.selfSigned("tide.test"))
        #expect(alone.text.hasPrefix("the certificate is signed by itself ("))
        let identity = try await self.authority.sign(["tide.test"])
        let unknown = try await self.ask(identity, checker: TransferHTTPChecker())
        #expect(unknown.text.hasPrefix("nobody trusted here signed the certificate; its issuer is "))
        #expect(unknown.text.contains("Test Authority"))
    }
}

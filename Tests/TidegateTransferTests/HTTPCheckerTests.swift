import Synchronization
import Testing
import TidegateTransfer
import TidegateCore
import TidegateTestKit

@Suite(.timeLimit(.minutes(5))) struct HTTPCheckerTests {
    private let checker = TransferHTTPChecker()
    private static let home = IPAddress(ipv4: 0x7F00_0001)

    private func ask(
        _ url: String, _ lastStage: Stage, method: String = "GET", limit: Duration = .seconds(10),
        bodyLimit: Int = 0
    ) async throws -> HTTPCheck.Result {
        await self.checker.check(
            HTTPCheck.Request(
                url: try HTTPURL(url), address: Self.home, lastStage: lastStage, method: method, limit: limit,
                bodyLimit: bodyLimit))
    }

    @Test("A response's status, Location and first bytes are reported, and nothing is followed or repeated")
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
        let good = try await self.ask("http://tide.invalid:\(server.port)/", .body, bodyLimit: 4)
        #expect(good.reached == .response)
        #expect(good.failure == nil)
        #expect(good.status == 200)
        #expect(good.body == Array("0123".utf8))
        #expect(good.local == Self.home)
        #expect(good.text.isEmpty)
        #expect(good.phases.connect != nil)
        let portal = try await self.ask(server.url("/portal"), .body, bodyLimit: 64)
        #expect(portal.status == 302)
        #expect(portal.failure == nil, "an answer is an answer")
        #expect(portal.location == "http://portal.test/login")
        #expect(portal.body == Array("this way".utf8))
        #expect(try await self.ask(server.url("/204"), .body).status == 204)
        #expect(try await self.ask(server.url("/busy"), .body).status == 503)
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
        let answer = try await self.ask(server.url(), .body, bodyLimit: 1000)
        #expect(answer.failure == nil)
        #expect(answer.body == LiveServerAnswer.bytes(count: 1000))
        #expect(try await self.ask(server.url(), .body).status == 200)
    }

    @Test("A look at TCP connects, sends nothing and hangs up, whatever the scheme", arguments: ["http", "https"])
    func connection(_ scheme: String) async throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let answer = try await self.ask("\(scheme)://127.0.0.1:\(server.port)/", .connect)
        #expect(answer.reached == .connect)
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
        let answer = try await self.ask("http://tide.invalid:\(port)/", .body)
        #expect(answer.reached == nil)
        #expect(answer.failure == .connectFailed)
        #expect(answer.socketError == .refused)
    }

    @Test("Silence ends with the limit, at whatever depth it was met")
    func silence() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let http = try await self.ask(server.url(), .body, limit: .milliseconds(200))
        #expect(http.reached == .connect)
        #expect(http.failure == .timedOut)
        let tls = try await self.ask("https://127.0.0.1:\(server.port)/", .tls, limit: .milliseconds(200))
        #expect(tls.reached == .connect)
        #expect(tls.failure == .timedOut)
    }

    @Test("A cancelled check returns at once")
    func cancelled() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let (checker, url) = (self.checker, try HTTPURL(server.url()))
        let task = Task { await checker.check(HTTPCheck.Request(url: url, address: Self.home, limit: .seconds(50))) }
        #expect(await eventually { server.requests.count == 1 })
        task.cancel()
        #expect(await task.value.failure == .cancelled)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await checker.check(HTTPCheck.Request(url: url, address: Self.home, limit: .seconds(50)))
        }
        #expect(await early.value.status == nil)
    }
}

@Suite(.enabled(if: TestAuthority.isAvailable, "certificates need openssl(1)"), .timeLimit(.minutes(5)))
struct HTTPCheckerCertificateTests {
    private let authority: TestAuthority
    private let checker: TransferHTTPChecker

    init() async throws {
        self.authority = try await TestAuthority()
        self.checker = TransferHTTPChecker(caFile: self.authority.certificate)
    }

    private func ask(
        _ identity: TestAuthority.Identity, _ lastStage: Stage = .tls, checker: TransferHTTPChecker? = nil,
        arguments: [String] = []
    ) async throws -> HTTPCheck.Result {
        let server = try await TestTLSServer(identity, arguments: arguments)
        defer { withExtendedLifetime(server) {} }
        let question = HTTPCheck.Request(
            url: try HTTPURL("https://tide.test:\(server.port)/"), address: IPAddress(ipv4: 0x7F00_0001),
            lastStage: lastStage, bodyLimit: 64
        )
        return await (checker ?? self.checker).check(question)
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
        let http = try await self.ask(identity, .body)
        #expect(http.reached == .response)
        #expect(http.status == 200)
        #expect(http.certificate == certificate)
    }

    @Test("An expired certificate is shown with the day it ended")
    func expired() async throws {
        let answer = try await self.ask(try await self.authority.sign(["tide.test"], .past), .body)
        #expect(answer.reached == .connect)
        #expect(answer.failure == .tlsFailed)
        #expect(answer.text == "the certificate expired on 1 Feb 2024")
        #expect(answer.certificate?.subject.contains("tide.test") == true)
    }

    @Test("An authority whose certificate has expired is named with its day, whether it is sent or trusted here")
    func expiredAuthority() async throws {
        let between = try await self.authority.expiredIntermediate()
        let identity = try await self.authority.sign("tide.test", by: between)
        let sent = try await self.ask(identity, .body, arguments: ["-cert_chain", between.certificate])
        let text = "the certificate of the authority CN = Test Intermediate expired on 1 Feb 2024"
        #expect(sent.failure == .tlsFailed && sent.text == text && Self.isSent(sent) == true)
        #expect(sent.certificate?.subject == "CN = tide.test")
        let trusted = try await self.ask(identity, .body, checker: TransferHTTPChecker(caFile: between.certificate))
        #expect(trusted.failure == .tlsFailed && trusted.text == text && Self.isSent(trusted) == false)
    }

    // Whether the server sent the authority's certificate; nil if no authority is named.
    private static func isSent(_ answer: HTTPCheck.Result) -> Bool? {
        guard case .expiredAuthority(let authority)? = answer.certificateError else { return nil }
        return authority.isSent
    }

    @Test("A certificate from the future is shown with the day it begins")
    func future() async throws {
        let answer = try await self.ask(try await self.authority.sign(["tide.test"], .future))
        #expect(answer.text == "the certificate is not valid yet (not before 1 Jan 2044)")
    }

    @Test("A certificate for other names says for which")
    func names() async throws {
        let answer = try await self.ask(try await self.authority.sign(["sea.test", "*.bay.test"]))
        #expect(answer.failure == .tlsFailed)
        #expect(answer.reached == .connect)
        #expect(answer.text == "the certificate is for sea.test, *.bay.test and not for tide.test")
    }

    @Test("A certificate without a trusted issuer names its issuer, or itself")
    func issuers() async throws {
        let alone = try await self.ask(try await self.authority.selfSigned("tide.test"))
        #expect(alone.text.hasPrefix("the certificate is self-signed ("))
        let identity = try await self.authority.sign(["tide.test"])
        let unknown = try await self.ask(identity, checker: TransferHTTPChecker())
        #expect(
            unknown.text.hasPrefix(
                "the certificate is not signed by an authority that this host trusts; its issuer is "))
        #expect(unknown.text.contains("Test Authority"))
    }
}

import Synchronization
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// Challenges and their answers.
@Suite(.timeLimit(.minutes(5)))
struct AuthenticationTests {
    private final class Counter: Sendable {
        private let count = Mutex(0)
        func add() { self.count.withLock { $0 += 1 } }
        var value: Int { self.count.withLock { $0 } }
    }

    private static let user = Credentials(user: "Mufasa", password: "Circle Of Life")
    private static let newUser = Credentials(user: "Mufasa", password: "Circle of Life")

    @Test("Challenges are read with commas in quotes, several in a field, and rubbish left out")
    func parse() {
        let schemes = AuthenticationChallenge.Scheme.parse([
            #"Digest realm="a, \"b\"", qop="auth,auth-int", nonce="n", Basic realm="c""#, "Bearer", "=,\"",
        ])
        #expect(schemes.map(\.name) == ["digest", "basic", "bearer"])
        #expect(schemes.map(\.realm) == ["a, \"b\"", "c", ""])
        #expect(schemes.first?.parameters["qop"] == "auth,auth-int")
    }

    @Test("Digest answers are those of RFC 7616's examples")
    func digest() throws {
        let parameters =
            #"realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
        let nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let schemes = AuthenticationChallenge.Scheme.parse(["Digest \(parameters), algorithm=\(algorithm)"])
            var answer = try #require(DigestAnswer(Self.newUser, schemes, clientNonce: nonce))
            let value = answer.value(method: "GET", path: "/dir/index.html")
            #expect(value.contains("response=\"\(response)\""))
            #expect(value.contains("nc=00000001"))
            #expect(answer.value(method: "GET", path: "/").contains("nc=00000002"))
        }
    }

    @Test("The oldest kind, without a protection, is answered as RFC 2069 asks")
    func oldDigest() throws {
        let schemes = AuthenticationChallenge.Scheme.parse([
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
        ])
        var answer = try #require(DigestAnswer(Self.user, schemes, clientNonce: "x"))
        let value = answer.value(method: "GET", path: "/dir/index.html")
        #expect(value.contains("response=\"670fd8c2df070c60b045671b8b24ff02\""))
        #expect(!value.contains("qop"))
    }

    enum Kind: CaseIterable {
        case basic, digest, bearer

        var challenge: String {
            switch self {
            case .basic: #"Basic realm="tide""#
            case .digest: #"Digest realm="tide", qop="auth", nonce="abc", algorithm=SHA-256"#
            case .bearer: #"Bearer realm="tide""#
            }
        }

        var answer: AuthenticationAnswer {
            switch self {
            case .basic, .digest: .credentials(Credentials(user: "u", password: "p"))
            case .bearer: .bearer("tok")
            }
        }

        var start: String {
            switch self {
            case .basic: "Basic dTpw"
            case .digest: "Digest username=\"u\", realm=\"tide\", nonce=\"abc\", uri=\"/x?q=1\""
            case .bearer: "Bearer tok"
            }
        }
    }

    @Test("A challenge is answered once, and the request sent again with its body", arguments: Kind.allCases)
    func answer(_ kind: Kind) async throws {
        let server = try LiveServer { request in
            request.field("authorization")?.hasPrefix(kind.start) == true
                ? .respond(text: "in") : .respond(401, ["WWW-Authenticate: \(kind.challenge)"], text: "who?")
        }
        defer { server.stop() }
        let asked = Counter()
        let fixture = try SessionFixture(
            hooks: SessionHooks(authenticate: { _, challenge in
                asked.add()
                #expect(challenge.realm == "tide")
                #expect(challenge.origin == String(server.url().dropLast()))
                return kind.answer
            }))
        let task = fixture.run(
            try TaskRequest(url: server.url("/x?q=1"), method: "POST", body: .data(Array("tide".utf8))))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(task.body() == Array("in".utf8))
        #expect(asked.value == 1)
        #expect(server.requests.map(\.body) == [Array("tide".utf8), Array("tide".utf8)])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A request's own credentials are sent by Digest if the server asks for it, once, and to no other origin")
    func ownCredentials() async throws {
        let (challenge, start) = (Kind.digest.challenge, Kind.digest.start)
        let other = try LiveServer { _ in .respond(401, ["WWW-Authenticate: \(challenge)"]) }
        let server = try LiveServer { request in
            if request.path == "/away" { return .respond(302, ["Location: \(other.url("/x?q=1"))"]) }
            return request.field("authorization")?.hasPrefix(start) == true && request.path == "/x?q=1"
                ? .respond(text: "in") : .respond(401, ["WWW-Authenticate: \(challenge)"])
        }
        defer {
            server.stop()
            other.stop()
        }
        let fixture = try SessionFixture()
        for (path, status, count) in [("/x?q=1", 200, 2), ("/wrong", 401, 2), ("/away", 401, 1)] {
            var request = try TaskRequest(url: server.url(path))
            request.options.credentials = Credentials(user: "u", password: "p")
            #expect(await fixture.run(request).result().status == status)
            #expect(server.requests.count { $0.path == path } == count)
        }
        #expect(other.requests.map { $0.field("authorization") } == [nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Wrong credentials are not asked for twice: the 401 is the answer")
    func wrong() async throws {
        let server = try LiveServer { _ in .respond(401, ["WWW-Authenticate: Basic realm=\"tide\""]) }
        defer { server.stop() }
        let asked = Counter()
        let fixture = try SessionFixture(
            hooks: SessionHooks(authenticate: { _, _ in
                asked.add()
                return .credentials(Self.user)
            }))
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .httpStatus)
        #expect(result.status == 401)
        #expect(asked.value == 1)
        #expect(server.requests.count == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Refusing makes the 401 the answer, and cancelling cancels")
    func refuse() async throws {
        let server = try LiveServer { _ in .respond(401, ["WWW-Authenticate: Basic realm=\"tide\""]) }
        defer { server.stop() }
        for (answer, outcome) in [(AuthenticationAnswer.refuse, TaskOutcome.failure), (.cancel, .cancelled)] {
            let fixture = try SessionFixture(hooks: SessionHooks(authenticate: { _, _ in answer }))
            let result = await fixture.run(try TaskRequest(url: server.url())).result()
            #expect(result.outcome == outcome)
            await fixture.session.invalidate(cancellingTasks: true)
        }
        #expect(server.requests.count == 2)
    }

    @Test("A nonce that is only too old is renewed without asking again")
    func stale() async throws {
        let server = try LiveServer { request in
            let isNew = request.field("authorization")?.contains("nonce=\"two\"") == true
            let nonce = request.field("authorization") == nil ? "one" : "two"
            let challenge =
                "WWW-Authenticate: Digest realm=\"t\", qop=\"auth\", nonce=\"\(nonce)\", stale=\(nonce == "two")"
            return isNew ? .respond(text: "in") : .respond(401, [challenge])
        }
        defer { server.stop() }
        let asked = Counter()
        let fixture = try SessionFixture(
            hooks: SessionHooks(authenticate: { _, _ in
                asked.add()
                return .credentials(Self.user)
            }))
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(asked.value == 1)
        #expect(server.requests.count == 3)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A proxy gets its credentials, and the server behind it does not")
    func proxy() async throws {
        let server = try LiveServer { request in
            request.field("proxy-authorization") == "Basic dTpw"
                ? .respond(text: "in \(request.field("authorization") ?? "-")")
                : .respond(407, ["Proxy-Authenticate: Basic realm=\"p\""])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.proxy = ProxyPolicy(String(server.url().dropLast())) },
            hooks: SessionHooks(authenticate: { _, challenge in
                #expect(challenge.isProxy)
                return .credentials(Credentials(user: "u", password: "p"))
            }))
        let task = fixture.run(try TaskRequest(url: "http://nowhere.test/x"))
        #expect(await task.result().outcome == .success)
        #expect(task.body() == Array("in -".utf8))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The credentials of one origin do not go to another one")
    func otherOrigin() async throws {
        let second = try LiveServer { request in .respond(text: request.field("authorization") ?? "none") }
        defer { second.stop() }
        let first = try LiveServer { request in
            request.field("authorization") == nil
                ? .respond(401, ["WWW-Authenticate: Bearer"]) : .respond(302, ["Location: \(second.url())"])
        }
        defer { first.stop() }
        let fixture = try SessionFixture(hooks: SessionHooks(authenticate: { _, _ in .bearer("secret") }))
        let task = fixture.run(try TaskRequest(url: first.url()))
        #expect(await task.result().outcome == .success)
        #expect(task.body() == Array("none".utf8))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

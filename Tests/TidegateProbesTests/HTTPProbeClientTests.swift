import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes
import TidegateSession
import TidegateTestKit

/// What Prometheus' HTTP clients do besides a request: tokens and secret fields.
@Suite(.timeLimit(.minutes(5)))
struct HTTPProbeClientTests {
    private static func options(_ server: LiveServer) throws -> HTTPProbeOptions {
        try .with {
            var oauth2 = OAuth2Options()
            oauth2.clientID = "a b"
            oauth2.clientSecret = .text("s/c:r&t")
            oauth2.scopes = ["read", "write"]
            oauth2.tokenURL = try HTTPURL(server.url("/token"))
            oauth2.parameters = ["audience": "x&y"]
            $0.oauth2 = oauth2
        }
    }

    @Test("A token is asked for with the client's name and password, and sent to the first origin only")
    func token() async throws {
        let other = try LiveServer { _ in .respond(text: "there") }
        defer { other.stop() }
        let server = try LiveServer { [port = other.port] request in
            switch request.path {
            case "/token": .respond(text: #"{"access_token": "t0ken", "token_type": "bearer"}"#)
            case "/away": .respond(302, ["Location: http://other.test:\(port)/"])
            default: .respond(text: "ok")
            }
        }
        defer { server.stop() }
        let report = try await ProbeFixture(Self.options(server)).probe(server.url("/away"))
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        let asked = try #require(server.requests.first)
        // The parts are encoded like a form's before they are joined (RFC 6749 2.3.1).
        #expect(asked.field("authorization") == "Basic \(Data("a%20b:s/c%3Ar%26t".utf8).base64EncodedString())")
        #expect(asked.method == "POST" && asked.field("content-type") == "application/x-www-form-urlencoded")
        #expect(
            String(decoding: asked.body, as: UTF8.self)
                == "audience=x%26y&grant_type=client_credentials&scope=read%20write")
        #expect(server.requests.last?.field("authorization") == "Bearer t0ken")
        #expect(other.requests.map { $0.field("authorization") } == [nil])
        #expect(!report.log.lines.joined().contains("t0ken"))
    }

    @Test("A server that does not take the header is asked with a form; one that gives no token fails the probe")
    func refusedToken() async throws {
        let server = try LiveServer { request in
            guard request.path == "/token" else { return .respond(text: "ok") }
            return String(decoding: request.body, as: UTF8.self).contains("client_secret=s/c%3Ar%26t")
                ? .respond(text: #"{"access_token": "t"}"#) : .respond(401, text: "no")
        }
        defer { server.stop() }
        #expect(try await ProbeFixture(Self.options(server)).probe(server.url()).value("probe_success") == 1)
        for (answer, text) in [
            ("{}", "the answer of the token server URL has no access_token"),
            ("nonsense", "the answer of the token server URL has no access_token"),
        ] {
            let broken = try LiveServer { _ in .respond(text: answer) }
            defer { broken.stop() }
            let report = try await ProbeFixture(Self.options(broken)).probe(server.url())
            #expect(report.failure?.reason == "authorization_failed")
            #expect(report.failure?.text == text.replacing("URL", with: broken.url("/token")))
        }
        let refusing = try LiveServer { _ in .respond(403, text: "no") }
        defer { refusing.stop() }
        let report = try await ProbeFixture(Self.options(refusing)).probe(server.url())
        #expect(report.failure?.text == "the token server \(refusing.url("/token")) answered 403")
        #expect(refusing.requests.count == 2)
    }

    @Test("Requests come from the module's address, or by its interface")
    func source() async throws {
        let server = try await ScriptedServer([.readLine, .send("HTTP/1.1 204 No Content\r\n\r\n"), .hang])
        func probe(_ change: (inout ProbeSource) -> Void) async throws -> ProbeReport {
            try await ProbeFixture(.with { change(&$0.source) }).probe("http://tide.test:\(server.port)/")
        }
        #expect(try await probe { $0.address = IPAddress("127.0.0.9") }.value("probe_success") == 1)
        #expect(server.peers == ["127.0.0.9"])
        let lo = try await probe { $0.interface = "lo" }
        #expect(lo.value("probe_success") == 1, "\(lo.failure as Any)")
        let foreign = try await probe { $0.address = IPAddress("192.0.2.1") }
        #expect(foreign.failure?.reason == "connect_failed" && foreign.failure?.party == .mine)
        #expect(foreign.failure?.text == "this host does not have the source address 192.0.2.1")
        let absent = try await probe { $0.interface = "nosuch0" }
        #expect(absent.failure?.text == "there is no interface nosuch0" && absent.failure?.party == .mine)
        let family = try await probe { $0.address = IPAddress("::1") }
        #expect(family.failure?.party == .mine, "\(family.failure as Any)")
    }

    @Test("Fields for the proxy go with CONNECT, and the target does not see them")
    func proxyHeaders() async throws {
        let proxy = try LiveServer { request in
            request.method == "CONNECT" ? .respond(407, text: "no") : .respond(text: "ok")
        }
        defer { proxy.stop() }
        let fixture = ProbeFixture(
            .with {
                $0.proxy = ProxyPolicy("http://127.0.0.1:\(proxy.port)")
                $0.proxyHeaders = [SecretHeader(name: "X-Key", value: .text("k"))]
            })
        let refused = try await fixture.probe("https://tide.test/")
        #expect(refused.value("probe_success") == 0)
        #expect(proxy.requests.last?.method == "CONNECT" && proxy.requests.last?.field("x-key") == "k")
        #expect(try await fixture.probe("http://tide.test/").value("probe_success") == 1)
    }

    @Test("Secret fields go to the first origin only, and are read from files for every probe")
    func secretHeaders() async throws {
        let other = try LiveServer { _ in .respond(text: "there") }
        defer { other.stop() }
        let server = try LiveServer { [port = other.port] _ in .respond(302, ["Location: http://other.test:\(port)/"]) }
        defer { server.stop() }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let fixture = ProbeFixture(
            .with {
                $0.secretHeaders = [
                    SecretHeader(name: "X-A", value: .text("one")), SecretHeader(name: "X-B", value: .file(file.path)),
                ]
            })
        for key in ["two", "three"] {
            try "\(key)\n".write(to: file, atomically: true, encoding: .utf8)
            _ = try await fixture.probe(server.url())
            #expect(server.requests.last?.field("x-a") == "one" && server.requests.last?.field("x-b") == key)
        }
        #expect(other.requests.count == 2)
        #expect(other.requests.allSatisfy { $0.field("x-a") == nil && $0.field("x-b") == nil })
    }
}

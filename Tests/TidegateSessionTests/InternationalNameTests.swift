import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// Host names with letters beyond ASCII, as requests use them.
@Suite(.timeLimit(.minutes(5)))
struct InternationalNameTests {
    private static let loopback = IPAddress(ipv4: 0x7F00_0001)

    @Test("A name is looked up and sent in its encoded form, and shown as it was typed")
    func request() async throws {
        let server = try LiveServer { $0.path == "/bad" ? .respond(404) : .respond(text: "tide") }
        defer { server.stop() }
        let port = try #require(try Target(String(server.url().dropFirst(7).prefix { $0 != "/" })).port)
        let resolver = ScriptedResolver(["xn--bcher-kva.example": [Self.loopback]])
        let fixture = try SessionFixture(resolver: resolver)
        let task = fixture.run(try TaskRequest(url: "http://Bücher.example:\(port)/x"))
        #expect(await task.result().outcome == .success)
        #expect(server.requests.first?.field("host") == "xn--bcher-kva.example:\(port)")
        #expect(task.info.url == "http://Bücher.example:\(port)/x")
        let failed = await fixture.run(try TaskRequest(url: "http://Bücher.example:\(port)/bad")).result()
        #expect(failed.explanation == "http://Bücher.example:\(port)/bad: the server answered 404")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A redirect between both forms of a name stays with its origin, credentials included")
    func redirect() async throws {
        let server = try LiveServer { request in
            guard request.path == "/", let host = request.field("host") else { return .respond(text: "tide") }
            return .respond(302, ["Location: http://bücher.example:\(host.split(separator: ":").last ?? "")/y"])
        }
        defer { server.stop() }
        let port = try #require(try Target(String(server.url().dropFirst(7).prefix { $0 != "/" })).port)
        let fixture = try SessionFixture(
            resolver: ScriptedResolver(["xn--bcher-kva.example": [Self.loopback]]))
        var request = try TaskRequest(url: "http://xn--bcher-kva.example:\(port)/")
        request.options.credentials = Credentials(user: "u", password: "p")
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(server.requests.map(\.path) == ["/", "/y"])
        #expect(server.requests.allSatisfy { $0.field("authorization") != nil })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A name that does not exist is reported as it was typed")
    func missing() async throws {
        let fixture = try SessionFixture(.with { $0.retry = RetryPolicy(attempts: 1) }, resolver: ScriptedResolver())
        let result = await fixture.run(try TaskRequest(url: "http://Bücher.example/")).result()
        #expect(result.explanation?.contains("Bücher.example") == true)
        #expect(result.explanation?.contains("xn--") == false)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A pin of a host holds however its name is written", arguments: ["bücher.example", "xn--bcher-kva.example"])
    func pins(_ host: String) throws {
        let pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let options = ServerTrustPolicy(pins: [host: [pin]]).options(
            for: try HTTPURL("https://xn--bcher-kva.example/"), showsCertificate: true, evaluator: nil)
        #expect(options.pins.count == 1)
    }
}

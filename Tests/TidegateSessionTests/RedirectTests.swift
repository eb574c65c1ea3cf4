internal import HTTPTypes
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    @Test("A redirect is followed, and secrets stay with the origin they were given for")
    func followed() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { request in
            switch request.path {
            case "/1": .respond(302, ["Location: /2"])
            default: .respond(307, ["Location: \(end.url("/3"))"])
            }
        }
        defer {
            start.stop()
            end.stop()
        }
        let fixture = try SessionFixture()
        var request = try TaskRequest(
            url: start.url("/1"), headers: [try HTTPField("Cookie", "a=b"), try HTTPField("X", "y")])
        request.options.credentials = Credentials(user: "u", password: "p")
        let task = fixture.run(request)
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(String(decoding: task.body(), as: UTF8.self) == "end")
        #expect(start.requests.map { $0.field("authorization") } == ["Basic dTpw", "Basic dTpw"])
        #expect(end.requests.first?.field("authorization") == nil)
        #expect(end.requests.first?.field("cookie") == nil)
        #expect(start.requests.map { $0.field("x") } == ["y", "y"])
        #expect(end.requests.first?.field("x") == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A Host of the user's own stays with its origin")
    func host() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { request in
            request.path == "/1" ? .respond(302, ["Location: /2"]) : .respond(302, ["Location: \(end.url("/3"))"])
        }
        defer {
            start.stop()
            end.stop()
        }
        let fixture = try SessionFixture()
        let request = try TaskRequest(url: start.url("/1"), headers: [try HTTPField("host", "inner.test")])
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(start.requests.map { $0.field("host") } == ["inner.test", "inner.test"])
        #expect(end.requests.map { $0.field("host") } == ["127.0.0.1:\(end.port)"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A circle of redirects ends after ten")
    func circle() async throws {
        let server = try LiveServer { _ in .respond(302, ["Location: /"]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .httpStatus)
        #expect(result.explanation?.contains("redirects more than 10 times") == true)
        #expect(server.requests.count == 11)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Redirects are no tries: what fails behind two of them was the first attempt, and then the second")
    func tries() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/": .respond(302, ["Location: /a"])
            case "/a": .respond(302, ["Location: /b"])
            default: .respond(503, text: "busy")
            }
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(attempts: 2, base: .milliseconds(1), cap: .milliseconds(1)) })
        let task = fixture.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.attempts == 2 && server.requests.count == 6)
        #expect(result.explanation == "\(server.url("/b")): the server answered 503, after 2 attempts")
        #expect(result.clause == "the server answered 503")
        let sentences = fixture.recorder.taskChanges(of: task.id).map(\.sentence)
        #expect(
            sentences.filter { $0.hasPrefix("attempt") && $0.contains("failed") }
                == (1...2).map { "attempt \($0) failed: the server answered 503" })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A POST becomes a GET after 303 and stays a POST after 307")
    func methods() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/303": .respond(303, ["Location: /end"])
            case "/307": .respond(307, ["Location: /end"])
            default: .respond(text: "ok")
            }
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        for path in ["/303", "/307"] {
            let request = try TaskRequest(url: server.url(path), method: "POST", body: .data(Array("tide".utf8)))
            #expect(await fixture.run(request).result().outcome == .success)
        }
        let ends = server.requests.filter { $0.path == "/end" }
        #expect(ends.map(\.method) == ["GET", "POST"])
        #expect(ends.map { String(decoding: $0.body, as: UTF8.self) } == ["", "tide"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Sixty-four at a time of three thousand small requests all come back, none twice")
    func many() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.maxConnectionsPerHost = 64 })
        let tasks = try (0..<3000).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        var good = 0
        for task in tasks where await task.result().outcome == .success { good += 1 }
        #expect(good == 3000)
        #expect(server.requests.count == 3000)
        #expect(server.accepted <= 64)
        let completed = fixture.recorder.events.count {
            if case .task(let event) = $0.payload, case .completed = event.kind { true } else { false }
        }
        #expect(completed == 3000)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

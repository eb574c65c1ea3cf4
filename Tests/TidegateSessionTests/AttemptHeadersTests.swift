import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// The hook that gives each attempt its fields, and fields as they are sent.
@Suite(.timeLimit(.minutes(5)))
struct AttemptHeadersTests {
    @Test("Each attempt gets the fields that the hook gives it then")
    func renewedToken() async throws {
        let server = try LiveServer { request in
            request.field("authorization") == "Bearer 3" ? .respond(text: "ok") : .respond(503)
        }
        defer { server.stop() }
        let asked = Mutex(0)
        let hooks = SessionHooks(requestHeaders: { _, given in
            let number = asked.withLock { count in
                count += 1
                return count
            }
            return given.filter { $0.name != .authorization }
                + [HTTPField(name: .authorization, value: "Bearer \(number)")]
        })
        let retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
        let fixture = try SessionFixture(.with { $0.retry = retry }, hooks: hooks)
        let headers = [try HTTPField("Authorization", "Bearer 0"), try HTTPField("X-Kept", "yes")]
        let result = await fixture.run(try TaskRequest(url: server.url(), headers: headers)).result()
        #expect(result.outcome == .success)
        #expect(server.requests.map { $0.field("authorization") } == ["Bearer 1", "Bearer 2", "Bearer 3"])
        #expect(server.requests.allSatisfy { $0.field("x-kept") == "yes" })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A field that follows from the body fails the task, and nothing is sent")
    func contentLength() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let hooks = SessionHooks(requestHeaders: { _, _ in [HTTPField(name: .contentLength, value: "7")] })
        let fixture = try SessionFixture(hooks: hooks)
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .invalidRequest)
        #expect(result.explanation == "the header Content-Length follows from the body and cannot be given")
        #expect(server.requests.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An empty field is sent, also in the place of one that libcurl would send")
    func empty() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let headers = [try HTTPField("X-Empty", ""), try HTTPField("Accept", "")]
        #expect(
            await fixture.run(try TaskRequest(url: server.url(), headers: headers)).result().outcome == .success)
        let request = try #require(server.requests.first)
        #expect(request.field("x-empty") == "")
        #expect(request.fields.filter { $0.name == .accept }.map(\.value) == [""])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A redirect to a URL with a space is followed")
    func space() async throws {
        let server = try LiveServer { request in
            request.path == "/" ? .respond(302, ["Location: /a b/c d?e f"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(server.requests.map(\.path) == ["/", "/a%20b/c%20d?e%20f"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A response without a body ends at 1", arguments: [("GET", 204), ("HEAD", 200)])
    func noBody(_ method: String, _ status: Int) async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.send(LiveServerAnswer.head(status, []))]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url(), method: method))
        #expect(await task.result().outcome == .success)
        #expect(task.currentProgress.fraction == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Missing directories are made when that is asked for, and only then")
    func directories() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let scratch = try Scratch()
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a/b/c"))
        let refused = await fixture.run(request).result()
        #expect(refused.explanation == "the directory \(scratch.file("a/b")) does not exist")
        request.options.createsDirectories = true
        let made = await fixture.run(request).result()
        #expect(made.file == scratch.file("a/b/c"))
        #expect(scratch.bytes("a/b/c") == Array("ok".utf8))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

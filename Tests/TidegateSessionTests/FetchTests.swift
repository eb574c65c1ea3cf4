import Glibc
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct FetchTests {
    @Test("A data task brings its body, and its events come in order")
    func data() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url("/a?secret=1")))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(String(decoding: task.body(), as: UTF8.self) == "tide")
        #expect(result.status == 200)
        #expect(result.bytes == 4)
        #expect(result.wireBytes == 4)
        #expect(result.attempts == 1)
        #expect(result.held.isEmpty)
        #expect(task.info.url == server.url("/a"))
        #expect(
            fixture.eventNames(of: task) == [
                "created", "resumed", "gate(immediate)", "attemptStarted(1)", "responseHead(200)", "progress",
                "attemptSucceeded", "completed(success)",
            ])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download appears whole at its place, and nothing else is left")
    func download() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(300_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("out.bin"), permissions: 0o640)
        let task = fixture.run(request)
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.file == scratch.file("out.bin"))
        #expect(result.bytes == 300_000)
        #expect(scratch.names == ["out.bin"])
        #expect(scratch.hasPattern("out.bin", 300_000))
        #expect(fixture.eventNames(of: task).suffix(3) == ["attemptSucceeded", "moved", "completed(success)"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A private download is private from its first byte")
    func privatePart() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            LiveServerAnswer([
                LiveServerAnswer.pattern(300_000, for: request).steps[0], .pattern(from: 0, count: 9), .hang,
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("out.bin"), permissions: 0o600)
        let task = fixture.run(request)
        #expect(await fixture.wait { scratch.bytes(".out.bin.tidegate")?.count == 9 })
        var status = stat()
        #expect(stat(scratch.file(".out.bin.tidegate"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        task.cancel()
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A 503 is tried again, and the second answer counts")
    func retry() async throws {
        let server = try LiveServer { $0.number == 1 ? .respond(503, text: "busy") : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(10), cap: .milliseconds(20)) })
        let task = fixture.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 2)
        #expect(String(decoding: task.body(), as: UTF8.self) == "ok")
        let names = fixture.eventNames(of: task)
        #expect(names.filter { $0.hasPrefix("retry") } == ["retryScheduled(http_5xx)"])
        #expect(names.contains("held(backoff)") && names.contains("released(backoff)"))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

import FoundationEssentials
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

/// The calls that make a task, run it and give its result.
@Suite(.timeLimit(.minutes(5)))
struct AsyncSessionTests {
    @Test("A text, a URL and a request alike give a body and the response to it")
    func data() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let text = server.url("/text")
        let url = try #require(URL(string: server.url("/url")))
        let (first, response) = try await fixture.session.data(for: text)
        let (second, _) = try await fixture.session.data(for: url)
        let (third, _) = try await fixture.session.data(for: try TaskRequest(url: server.url("/request")))
        #expect(response.status == 200)
        #expect(response.url == text)
        #expect([first, second, third].map { String(decoding: $0, as: UTF8.self) } == ["/text", "/url", "/request"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A refused response is an error with its status and its body, also for a download")
    func refused() async throws {
        let server = try LiveServer { _ in .respond(404, ["Content-Type: application/json"], text: "{\"why\":1}") }
        defer { server.stop() }
        let scratch = try Scratch()
        let fixture = try SessionFixture()
        let error = await #expect(throws: TaskError.self) { try await fixture.session.data(for: server.url()) }
        #expect(error?.reason == .httpStatus)
        #expect(error?.status == 404)
        #expect(error.map { String(decoding: $0.body, as: UTF8.self) } == "{\"why\":1}")
        let other = await #expect(throws: TaskError.self) {
            try await fixture.session.download(server.url(), to: scratch.file("a"))
        }
        #expect(other?.status == 404)
        #expect(other.map { String(decoding: $0.body, as: UTF8.self) } == "{\"why\":1}")
        #expect(scratch.names.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download is at its path when the call returns")
    func download() async throws {
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let scratch = try Scratch()
        let fixture = try SessionFixture()
        let response = try await fixture.session.download(server.url(), to: scratch.file("a"))
        #expect(response.status == 200)
        #expect(scratch.names == ["a"])
        #expect(scratch.hasPattern("a", 100_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Cancelling the calling Swift task cancels the session's task")
    func cancellation() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let url = server.url()
        let session = fixture.session
        let call = Task { try await session.data(for: url) }
        #expect(await fixture.wait { server.requests.count == 1 })
        call.cancel()
        let error = await #expect(throws: TaskError.self) { try await call.value }
        #expect(error?.reason == .cancelled)
        #expect(fixture.session.tasks().map(\.state) == [.completed(.cancelled)])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What is no URL is refused before a task is made")
    func invalid() async throws {
        let fixture = try SessionFixture()
        let error = await #expect(throws: TaskError.self) { try await fixture.session.data(for: "ftp://a.test/") }
        #expect(error?.reason == .invalidRequest)
        #expect(fixture.session.tasks().isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

import Glibc
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Each request that a server sees is an attempt of a task, with its events and its price.
@Suite(.timeLimit(.minutes(5)))
struct WireCountTests {
    /// Answers the first request of every connection, and breaks it at the second.
    private static func breakingServer() throws -> LiveServer {
        let used = Mutex<Set<Int>>([])
        return try LiveServer { request in
            used.withLock { $0.insert(request.connection).inserted }
                ? .respond(text: "ok") : LiveServerAnswer([.close])
        }
    }

    private static func attempts(_ fixture: SessionFixture) -> Int {
        fixture.recorder.events.count { event in
            guard case .task(let task) = event.payload else { return false }
            return task.kind.eventName.hasPrefix("attemptStarted")
        }
    }

    @Test("On kept connections that break, the server's count is the attempts'", arguments: ["GET", "PUT", "DELETE"])
    func keptConnections(_ method: String) async throws {
        let server = try Self.breakingServer()
        defer { server.stop() }
        let retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
        let fixture = try SessionFixture(.with { $0.retry = retry })
        for _ in 0..<20 {
            let result = await fixture.run(try TaskRequest(url: server.url(), method: method)).result()
            #expect(result.outcome == .success)
        }
        #expect(server.requests.count > 20)
        #expect(Self.attempts(fixture) == server.requests.count)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Without retries a kept connection that breaks is a failed task, and one request")
    func noRetries() async throws {
        let server = try Self.breakingServer()
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.retry = .never })
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        let second = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(second.failure == .reset)
        #expect(server.requests.count == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A POST on a kept connection that breaks ends as outcomeUnknown, with the events of every other failure")
    func post() async throws {
        let server = try Self.breakingServer()
        defer { server.stop() }
        let fixture = try SessionFixture()
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1])))
        #expect(await task.result().failure == .outcomeUnknown)
        let names = fixture.eventNames(of: task).filter { !$0.hasPrefix("progress") }
        #expect(
            names.suffix(3) == [
                "attemptFailed(outcomeUnknown)", "retriesExhausted(notIdempotent)", "completed(failure)",
            ])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An upload that is refused with 417 is sent once more without Expect, as an attempt that is not charged")
    func expectationFailed() async throws {
        let server = try LiveServer { $0.field("expect") == nil ? .respond(text: "ok") : .respond(417) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.retry = .never })
        let body = RequestBody.data(Array(repeating: 1, count: 2 << 20))
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: body))
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map { $0.field("expect") } == ["100-continue", nil])
        #expect(Self.attempts(fixture) == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A server's 408 to an idle connection costs the next request nothing, a POST neither")
    func idleTimeout() async throws {
        let isIdle = Latch()
        let server = try LiveServer { request in
            guard request.number == 1 else { return .respond(text: "own") }
            let timeout = LiveServerAnswer.head(408, ["Content-Length: 0", "Connection: close"])
            return LiveServerAnswer.respond(text: "first").then(.waitFor(isIdle), .send(timeout), .close)
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.retry = .never })
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(await fixture.wait { fixture.session.statistics().idleConnections == 1 })
        isIdle.open()
        #expect(await fixture.wait { fixture.session.statistics().idleConnections == 0 })
        let result = await fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1]))).result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(server.accepted == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// A session's timers follow the time that it was given.
@Suite(.timeLimit(.minutes(5)))
struct ManualTimeTests {
    @Test("A retry after an hour is made once the time is moved by an hour, and not a second earlier")
    func retry() async throws {
        let server = try LiveServer { request in
            request.number == 1
                ? LiveServerAnswer([.send(LiveServerAnswer.head(503, ["Content-Length: 0", "Retry-After: 3600"]))])
                : LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 2"]) + Array("ok".utf8))])
        }
        defer { server.stop() }
        let time = ManualTime()
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(cap: .seconds(7200), maxElapsed: nil) }, time: time)
        let task = fixture.run(try TaskRequest(url: server.url()))
        let barrier = fixture.session.makeTask(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { fixture.eventNames(of: task).contains("held(backoff)") })
        let delay = try #require(Self.delay(fixture.recorder.taskChanges(of: task.id)))
        #expect(delay >= .seconds(3600))
        time.advance(by: delay - .seconds(1))
        // The session's thread has seen the time once it has ended another task.
        barrier.cancel()
        _ = await barrier.result()
        #expect(task.state.name == .waiting)
        time.advance(by: .seconds(1))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 2)
        #expect(result.duration >= .seconds(3600))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Patience and deadlines run out when the time is moved past them", arguments: [true, false])
    func limits(hasPatience: Bool) async throws {
        let time = ManualTime()
        let fixture = try SessionFixture(paths: ScriptedPathSource(ScriptedPathSource.lost()), time: time)
        var request = try TaskRequest(url: "http://127.0.0.1:9/")
        if hasPatience { request.options.gate = GatePolicy(patience: .seconds(86_400)) }
        request.options.deadline = .seconds(90_000)
        let task = fixture.run(request)
        #expect(await fixture.wait { task.state.name == .waiting })
        time.advance(by: .seconds(hasPatience ? 86_400 : 90_000))
        #expect(await task.result().failure == (hasPatience ? .gateTimeout : .deadlineExceeded))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    private static func delay(_ changes: [TaskEvent.Kind]) -> Duration? {
        changes.lazy.compactMap { if case .retryScheduled(_, let delay) = $0 { delay } else { nil } }.first
    }
}

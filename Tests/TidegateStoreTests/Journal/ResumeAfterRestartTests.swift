import Foundation
import Testing
import TidegateStore
import TidegateCore
import TidegateTestKit

@testable import TidegateSession

/// What a task keeps over a restart, and what its events say about it.
@Suite(.timeLimit(.minutes(5)))
struct ResumeAfterRestartTests {
    @Test("The session's default headers are kept with a submitted task")
    func defaultHeaders() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        try first.session.defaultHeaders.set("X-Place", to: "boat")
        let made = try await first.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        await first.stop()
        let second = try JournalFixture(directory)
        try await second.session.restore()
        #expect(try await second.session.resume(made.id))
        #expect(try await second.end(of: made.id)?.outcome == .success)
        #expect(server.requests.first?.field("x-place") == "boat")
        await second.stop()
    }

    @Test("The end of the last restored task is published once, after its own last event", arguments: [0, 3])
    func allEnded(count: Int) async throws {
        let directory = try TestDirectory()
        let latch = Latch()
        let server = try LiveServer { _ in LiveServerAnswer.respond(text: "x").after(latch) }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        for number in 0..<count { _ = try await first.session.submit(try TaskRequest(url: server.url("/\(number)"))) }
        await first.stop()

        let second = try JournalFixture(directory)
        #expect(try await second.session.restore() == count)
        // A task of this process is not waited for.
        let own = try await second.session.submit(try TaskRequest(url: server.url("/own")), isSuspended: true)
        #expect(Self.ends(second).allSatisfy { $0 == "all 0" })
        latch.open()
        let all = Array(repeating: "completed", count: count) + ["all \(count)"]
        #expect(await eventually { Self.ends(second).count == count + 1 })
        _ = try await second.session.cancel(own.id)
        #expect(Self.ends(second) == all + ["completed"])
        await second.stop()
    }

    /// The ends of tasks and of all restored ones, in order.
    private static func ends(_ fixture: JournalFixture) -> [String] {
        fixture.recorder.events.compactMap { event in
            switch event.payload {
            case .task(let task): if case .completed = task.kind { "completed" } else { nil }
            case .session(.restoredTasksEnded(let count)): "all \(count)"
            default: nil
            }
        }
    }

    @Test("A restart does not give a task more attempts")
    func attempts() async throws {
        let directory = try TestDirectory()
        let latch = Latch()
        let server = try LiveServer { request in
            let refusal = LiveServerAnswer.respond(503, [], text: "no")
            // The shutdown comes during the third attempt.
            return request.number == 3 ? refusal.after(latch) : refusal
        }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        var request = try TaskRequest(url: server.url())
        request.options.retry = RetryPolicy(attempts: 3, base: .milliseconds(5), cap: .milliseconds(5))
        let made = try await first.session.submit(request)
        #expect(await eventually { server.requests.count == 3 })
        await first.stop()
        latch.open()
        let entry = try #require(try await JournalFixture.peek(directory, made.id))
        #expect(entry.life.effort?.charged == 2)
        #expect(entry.life.effort?.inARow == 2)

        let second = try JournalFixture(directory)
        try await second.session.restore()
        let end = try await second.end(of: made.id)
        #expect(end?.failure == .retriesExhausted)
        #expect(end?.attempts == 3)
        #expect(server.requests.count == 4)
        await second.stop()
    }

    @Test("A pause that a server asked for holds over a restart")
    func requestedPause() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { _ in .respond(503, ["Retry-After: 600"], text: "later") }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let made = try await first.session.submit(try TaskRequest(url: server.url()))
        let isPaused = await eventually {
            first.recorder.taskChanges(of: made.id).contains {
                if case .retryScheduled(_, let delay) = $0 { delay > .seconds(590) } else { false }
            }
        }
        #expect(isPaused)
        await first.stop()
        #expect(
            try await JournalFixture.peek(directory, made.id)?.life.effort?.pause.map { $0 > .seconds(300) } == true)

        let second = try JournalFixture(directory)
        try await second.session.restore()
        let isHeld = await eventually {
            if case .waiting(let reason, _)? = second.session.task(withID: made.id)?.info.state {
                reason == .backoff
            } else {
                false
            }
        }
        #expect(isHeld && server.requests.count == 1)
        await second.stop()
    }

    @Test("A restart does not give a task more attempts that bring a part")
    func freeAttempts() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { request in
            guard request.rangeStart == nil else { return .pattern(400_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 20_000), .close])
        }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        var request = try TaskRequest(url: server.url())
        request.destination = .file(directory.file("a"))
        let made = try await first.session.submit(request, isSuspended: true)
        var life = try #require(try await first.entry(made.id)).life
        life.effort = RetryProgress(active: .zero, waited: .zero, charged: 1000, inARow: 0, free: 1000)
        let (journal, used) = (first.journal.tasks.storage, life)
        try await withCheckedContinuation { done in
            journal.record(.tried(made.id, used)) { done.resume(returning: $0) }
        }.get()
        await first.stop()

        let second = try JournalFixture(directory)
        try await second.session.restore()
        #expect(try await second.session.resume(made.id))
        let end = try await second.end(of: made.id)
        #expect(end?.failure == .retriesExhausted)
        #expect(
            end?.explanation?.hasSuffix(", and more than 1000 attempts each brought only a part of the body") == true,
            "\(end?.explanation ?? "")")
        #expect(end?.attempts == 1001)
        #expect(server.requests.count == 1)
        await second.stop()
    }

    @Test("Time spent waiting at the gate counts after a restart")
    func patience() async throws {
        let directory = try TestDirectory()
        let first = try JournalFixture(directory)
        first.paths.say(ScriptedPathSource.lost())
        var request = try TaskRequest(url: "http://192.0.2.1/")
        request.options.gate = GatePolicy(require: [.routed], patience: .seconds(60))
        let made = try await first.session.submit(request)
        let isWaiting = await eventually {
            if case .waiting(.path, _)? = first.session.task(withID: made.id)?.info.state { true } else { false }
        }
        #expect(isWaiting)
        try await Task.sleep(for: .milliseconds(50))
        await first.stop()
        let effort = try await JournalFixture.peek(directory, made.id)?.life.effort
        #expect(effort.map { $0.waited >= .milliseconds(50) } == true, "\(String(describing: effort))")
    }

    @Test("A shutdown reports a task as suspended; only its real end is reported as completed")
    func oneEnd() async throws {
        let directory = try TestDirectory()
        let latch = Latch()
        let server = try LiveServer { LiveServerAnswer.respond(text: $0.path).after(latch) }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let made = try await first.session.submit(try TaskRequest(url: server.url()))
        #expect(await eventually { server.requests.count == 1 })
        await first.stop()
        latch.open()
        let changes = first.recorder.taskChanges(of: made.id)
        #expect(!changes.contains { if case .completed = $0 { true } else { false } })
        #expect(changes.contains { if case .suspended(.shutdown) = $0 { true } else { false } })

        let second = try JournalFixture(directory)
        try await second.session.restore()
        #expect(try await second.end(of: made.id)?.outcome == .success)
        await second.stop()
        let ends = second.recorder.taskChanges(of: made.id).filter { if case .completed = $0 { true } else { false } }
        #expect(ends.count == 1)
    }

    @Test("A command after the end of the session is refused, not confirmed")
    func overtaken() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        let made = try await fixture.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await fixture.session.invalidate(cancellingTasks: true)
        await #expect(throws: TaskError.self) { try await fixture.session.resume(made.id) }
        await #expect(throws: TaskError.self) { try await fixture.session.cancel(made.id) }
        #expect(try await fixture.entry(made.id)?.suspensions == 1)
        #expect(try await fixture.entry(made.id)?.end == nil)
        fixture.journal.close()
    }

    @Test("A task's age is measured by the monotonic clock within a boot, and by the wall clock across boots")
    func life() {
        func at(_ seconds: Int64, wall: Int64, boot: String) -> TaskLifetime {
            TaskLifetime(
                lived: .seconds(5), wall: WallTime(microseconds: wall * 1_000_000),
                monotonic: MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000), boot: boot)
        }
        let then = at(100, wall: 1000, boot: "a")
        #expect(then.lived(at: at(130, wall: 9000, boot: "a")) == .seconds(35))
        #expect(then.lived(at: at(1, wall: 1060, boot: "b")) == .seconds(65))
        #expect(then.lived(at: at(1, wall: 10, boot: "b")) == .seconds(5))
        #expect(at(100, wall: 1000, boot: "").lived(at: at(130, wall: 1001, boot: "")) == .seconds(6))
        #expect(then.lived(at: at(90, wall: 1000, boot: "a")) == .seconds(5))
    }
}

extension JournalFixture {
    /// A task's entry, read without continuing the task.
    static func peek(_ directory: TestDirectory, _ id: TaskID) async throws -> JournaledTask? {
        let fixture = try JournalFixture(directory)
        let entry = try await fixture.entry(id)
        await fixture.stop()
        return entry
    }
}

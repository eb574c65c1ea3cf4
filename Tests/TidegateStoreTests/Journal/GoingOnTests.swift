import Foundation
import Testing
import TidegateStore
import TidegateCore
import TidegateTestKit

@testable import TidegateSession

/// What the next process is given of a task, and what this one tells of it.
@Suite(.timeLimit(.minutes(5)))
struct GoingOnTests {
    @Test("The session's default headers are kept with a submitted task")
    func defaultHeaders() async throws {
        let folder = try Folder()
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let first = try JournalRig(folder)
        try first.session.defaultHeaders.set("X-Place", to: "boat")
        let made = try await first.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        await first.stop()
        let second = try JournalRig(folder)
        try await second.session.restore()
        #expect(try await second.session.resume(made.id))
        #expect(try await second.end(of: made.id)?.outcome == .success)
        #expect(server.requests.first?.field("x-place") == "boat")
        await second.stop()
    }

    @Test("A restart gives a task no more tries than it had")
    func tries() async throws {
        let folder = try Folder()
        let latch = Latch()
        let server = try LiveServer { request in
            let no = LiveServerAnswer.respond(503, [], text: "no")
            // The shutdown comes while the third one is under way.
            return request.number == 3 ? no.after(latch) : no
        }
        defer { server.stop() }
        let first = try JournalRig(folder)
        var request = try TaskRequest(url: server.url())
        request.retry = try RetryPolicy(attempts: 3, base: .milliseconds(5), cap: .milliseconds(5))
        let made = try await first.session.submit(request)
        #expect(await eventually(within: .seconds(30)) { server.requests.count == 3 })
        await first.stop()
        latch.open()
        let entry = try #require(try await JournalRig.peek(folder, made.id))
        #expect(entry.life.effort?.charged == 2)
        #expect(entry.life.effort?.inARow == 2)

        let second = try JournalRig(folder)
        try await second.session.restore()
        let end = try await second.end(of: made.id)
        #expect(end?.failure == .retriesExhausted)
        #expect(end?.attempts == 3)
        #expect(server.requests.count == 4)
        await second.stop()
    }

    @Test("Patience at the gate goes on after a restart")
    func patience() async throws {
        let folder = try Folder()
        let first = try JournalRig(folder)
        first.paths.say(ScriptedPathSource.lost())
        var request = try TaskRequest(url: "http://192.0.2.1/")
        request.gate = try GatePolicy(require: [.routed], patience: .seconds(60))
        let made = try await first.session.submit(request)
        let waits = await eventually {
            if case .waiting(.path, _)? = first.session.task(made.id)?.state { true } else { false }
        }
        #expect(waits)
        try await Task.sleep(for: .milliseconds(50))
        await first.stop()
        let effort = try await JournalRig.peek(folder, made.id)?.life.effort
        #expect(effort.map { $0.waited >= .milliseconds(50) } == true, "\(String(describing: effort))")
    }

    @Test("A shutdown tells a task as suspended, and only its end is told as one")
    func oneEnd() async throws {
        let folder = try Folder()
        let latch = Latch()
        let server = try LiveServer { LiveServerAnswer.respond(text: $0.path).after(latch) }
        defer { server.stop() }
        let first = try JournalRig(folder)
        let made = try await first.session.submit(try TaskRequest(url: server.url()))
        #expect(await eventually { server.requests.count == 1 })
        await first.stop()
        latch.open()
        let told = first.heard.taskChanges(of: made.id)
        #expect(!told.contains { if case .completed = $0 { true } else { false } })
        #expect(told.contains { if case .suspended(.shutdown) = $0 { true } else { false } })

        let second = try JournalRig(folder)
        try await second.session.restore()
        #expect(try await second.end(of: made.id)?.outcome == .success)
        await second.stop()
        let ends = second.heard.taskChanges(of: made.id).filter { if case .completed = $0 { true } else { false } }
        #expect(ends.count == 1)
    }

    @Test("A command that the session's end overtakes is refused, not confirmed")
    func overtaken() async throws {
        let folder = try Folder()
        let rig = try JournalRig(folder)
        let made = try await rig.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await rig.session.invalidate(cancellingTasks: true)
        await #expect(throws: TaskError.self) { try await rig.session.resume(made.id) }
        await #expect(throws: TaskError.self) { try await rig.session.cancel(made.id) }
        #expect(try await rig.entry(made.id)?.suspensions == 1)
        #expect(try await rig.entry(made.id)?.end == nil)
        rig.journal.close()
    }

    @Test("A life goes on by the clock that never jumps within a boot, and by the wall across boots")
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

extension JournalRig {
    /// A task's entry, read by nobody who goes on with it.
    static func peek(_ folder: Folder, _ id: TaskID) async throws -> JournaledTask? {
        let rig = try JournalRig(folder)
        let entry = try await rig.entry(id)
        await rig.stop()
        return entry
    }
}

import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateSessionTestKit

/// What is left where an end does not wait.
@Suite(.timeLimit(.minutes(5)))
struct EndOfSessionTests {
    @Test("A session ends although its thread hangs, and tells of every task once")
    func hangingThread() async throws {
        let server = try LiveServer { $0.path == "/" ? LiveServerAnswer([.hang]) : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let latch = Latch()
        let outcomes = Mutex<[TaskOutcome]>([])
        let waiting = fixture.session.makeTask(try TaskRequest(url: server.url())) { _, result in
            outcomes.withLock { $0.append(result.outcome) }
        }
        waiting.resume()
        #expect(await fixture.wait { server.requests.count == 1 })
        // No real code hangs like a disk does, so this handler hangs on purpose.
        let hanging = fixture.session.makeTask(try TaskRequest(url: server.url("/hang"))) { _, _ in latch.wait() }
        hanging.resume()
        #expect(await fixture.wait { fixture.eventNames(of: hanging).contains("attemptSucceeded") })
        let time = SystemClock()
        let begin = time.monotonic()
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(time.monotonic() - begin < .seconds(40))
        let result = await waiting.result()
        #expect(result.outcome == .cancelled)
        #expect(result.explanation == "the task was cancelled, and the disk did not answer")
        #expect(outcomes.withLock { $0 } == [.cancelled])
        #expect(fixture.session.tasks().allSatisfy { $0.id != waiting.id || $0.state == .completed(.cancelled) })
        latch.open()
        #expect(await hanging.result().outcome == .success)
        #expect(await fixture.wait { server.open == 0 })
        #expect(fixture.eventNames(of: waiting).filter { $0.hasPrefix("completed") } == ["completed(cancelled)"])
        #expect(outcomes.withLock { $0 } == [.cancelled])
    }

    @Test("Before a session ends its attempts continue, and what would start another one is held for drain")
    func draining() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: "ok").steps)
        }
        defer { server.stop() }
        var configuration = SessionConfiguration()
        configuration.maxConnections = 1
        let fixture = try SessionFixture(configuration)
        let running = fixture.run(try TaskRequest(url: server.url("/running")))
        #expect(await fixture.wait { server.requests.count == 1 })
        let waiting = fixture.run(try TaskRequest(url: server.url("/waiting")))
        #expect(await fixture.wait { waiting.state == .waiting(.concurrency, detail: nil) })
        fixture.session.holdAll()
        let late = fixture.run(try TaskRequest(url: server.url("/late")))
        #expect(await fixture.wait { late.state == .waiting(.drain, detail: nil) })
        #expect(fixture.session.statistics().held[.drain] == 2)
        latch.open()
        #expect(await running.result().outcome == .success)
        #expect(await fixture.wait { waiting.state == .waiting(.drain, detail: nil) })
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(await waiting.result().outcome == .cancelled)
        #expect(await late.result().outcome == .cancelled)
        #expect(server.requests.map(\.path) == ["/running"])
    }

    @Test("A download that is cancelled on its way to its place leaves nothing beside it")
    func cancelledWhileMoving() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let bus = EventBus(time: SystemClock())
        let canceller = Canceller()
        bus.attach(canceller)
        let session = try Session(
            .init(), bus: bus, paths: ScriptedPathSource(), resolver: ScriptedResolver(), time: SystemClock(),
            generator: SeededGenerator(seed: 7))
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let task = session.makeTask(request)
        canceller.watch(task)
        task.resume()
        #expect(await task.result().outcome == .cancelled)
        #expect(scratch.names == ["a"])
        #expect(scratch.hasPattern("a", 100_000))
        await session.invalidate(cancellingTasks: true)
    }
}

/// Cancels a task the moment its last byte is here, before its file can be in its place.
private final class Canceller: EventSink {
    private let task = Mutex<TransferTask?>(nil)

    func watch(_ task: TransferTask) { self.task.withLock { $0 = task } }

    func receive(_ event: Event) {
        if case .task(let event) = event.payload, case .attemptSucceeded = event.kind {
            self.task.withLock { $0 }?.cancel()
        }
    }
}

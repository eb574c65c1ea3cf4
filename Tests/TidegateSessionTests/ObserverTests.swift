internal import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Who hears of tasks, where and in which order.
@Suite(.timeLimit(.minutes(5)))
struct ObserverTests {
    private final class Notes: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
        var all: [String] { self.lines.withLock { $0 } }
    }

    private static func observer(_ name: String, _ notes: Notes) -> TaskObserver {
        TaskObserver(
            response: { _, response in notes.add("\(name) \(response.status)") },
            progress: { _, progress in notes.add("\(name) \(progress.receivedWire > 0 ? "bytes" : "none")") },
            completion: { _, result in notes.add("\(name) \(result.outcome.rawValue)") })
    }

    @Test("The session's listener and the task's own are both called in order, and neither replaces the other")
    func closures() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let notes = Notes()
        let fixture = try SessionFixture(observer: Self.observer("all", notes))
        let task = fixture.session.makeTask(
            try TaskRequest(url: server.url()), options: TaskOptions(observer: Self.observer("own", notes)),
            onCompletion: { _, _ in notes.add("handler") })
        task.resume()
        _ = await task.result()
        #expect(
            notes.all == [
                "all 200", "own 200", "all bytes", "own bytes", "all success", "own success", "handler",
            ])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Sessions side by side on one bus: each tells of its own tasks, and lists them by kind")
    func severalSessions() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (first, second) = (try SessionFixture(), try SessionFixture())
        let events = first.session.events()
        let data = first.run(try TaskRequest(url: server.url()))
        let upload = first.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1])))
        let other = second.run(try TaskRequest(url: server.url()))
        _ = (await data.result(), await upload.result(), await other.result())
        #expect(first.session.tasks().filter { $0.kind == .data }.map(\.id) == [data.id])
        #expect(first.session.tasks().filter { $0.kind == .upload }.map(\.id) == [upload.id])
        #expect(!first.session.tasks().contains { $0.kind == .download })
        #expect(second.session.tasks().map(\.id) == [other.id])
        events.cancel()
        var seen: Set<TaskID> = []
        for await event in events { if case .task(let task) = event.payload { seen.insert(task.id) } }
        #expect(seen == [data.id, upload.id])
        await first.session.invalidate(cancellingTasks: true)
        await second.session.invalidate(cancellingTasks: true)
    }

    @Test("A task's own stream of events has all of them in order, and ends with the task")
    func taskEvents() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.session.makeTask(try TaskRequest(url: server.url()))
        let events = task.events()
        task.resume()
        var names: [String] = []
        for await event in events {
            guard case .task(let change) = event.payload else { continue }
            names.append(change.kind.eventName)
        }
        // The loop above has ended on its own, and so does one that begins later.
        for await event in task.events() { Issue.record("\(event.payload) after the end") }
        // The session tells the task's own readers before the bus.
        #expect(await fixture.wait { fixture.eventNames(of: task).last == "completed(success)" })
        #expect(names.filter { $0 != "created" } == fixture.eventNames(of: task).filter { $0 != "created" })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    enum Deed: CaseIterable { case cancel, suspend, cancelTwice }

    @Test(
        "Suspending and cancelling work inside every closure, and the end is reported once", arguments: Deed.allCases)
    func insideClosures(_ deed: Deed) async throws {
        let server = try LiveServer { .pattern(200_000, for: $0, slice: 20_000, pauseMilliseconds: 20) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let act: @Sendable (TransferTask) -> Void = { task in
            switch deed {
            case .cancel: task.cancel()
            case .cancelTwice:
                task.cancel()
                task.cancel()
            case .suspend:
                task.suspend()
                task.resume()
            }
        }
        for place in 0..<3 {
            let observer = TaskObserver(
                response: { task, _ in if place == 0 { act(task) } },
                progress: { task, _ in if place == 1 { act(task) } },
                completion: { task, _ in if place == 2 { act(task) } })
            let task = fixture.session.makeTask(
                try TaskRequest(url: server.url()), options: TaskOptions(observer: observer),
                onCompletion: { task, _ in act(task) })
            task.resume()
            let result = await task.result()
            #expect(result.outcome == (deed == .suspend || place == 2 ? .success : .cancelled))
            #expect(fixture.eventNames(of: task).count { $0.hasPrefix("completed") } == 1)
            #expect(fixture.eventNames(of: task).last?.hasPrefix("completed") == true)
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("From a thousand threads a task is cancelled once")
    func cancelledByMany() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { server.requests.count == 1 })
        await withTaskGroup(of: Void.self) { group in for _ in 0..<1000 { group.addTask { task.cancel() } } }
        #expect(await task.result().outcome == .cancelled)
        #expect(fixture.eventNames(of: task).count { $0 == "completed(cancelled)" } == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Completion

    private actor MainDispatcher {
        private(set) var outcomes: [TaskOutcome] = []
        func note(_ outcome: TaskOutcome) { self.outcomes.append(outcome) }
    }

    @Test("A handler elsewhere has returned before the end is reported and before the result is there")
    func elsewhere() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let (isCalled, mayReturn) = (Latch(), Latch())
        let task = fixture.session.makeTask(
            try TaskRequest(url: server.url()),
            completion: .on { task, result in
                #expect(task.body() == Array("ok".utf8))
                isCalled.open()
                await HookTests.pass(mayReturn)
            })
        task.resume()
        #expect(await fixture.wait { isCalled.isOpen })
        #expect(!fixture.eventNames(of: task).contains("completed(success)"))
        #expect(task.state != .completed(.success))
        mayReturn.open()
        #expect(await task.result().outcome == .success)
        #expect(fixture.eventNames(of: task).last == "completed(success)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A handler on an actor runs there, once")
    func onActor() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let dispatcher = MainDispatcher()
        let task = fixture.session.makeTask(
            try TaskRequest(url: server.url()),
            completion: .on(dispatcher) { dispatcher, _, result in dispatcher.note(result.outcome) })
        task.resume()
        _ = await task.result()
        #expect(await dispatcher.outcomes == [.success])
        await fixture.session.invalidate(cancellingTasks: true)
        let late = fixture.session.makeTask(
            try TaskRequest(url: server.url()),
            completion: .on(dispatcher) { dispatcher, _, result in dispatcher.note(result.outcome) })
        #expect(await late.result().outcome == .cancelled)
        while await dispatcher.outcomes.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(await dispatcher.outcomes == [.success, .cancelled])
    }

    @Test("A session's end waits for its tasks where it does not cancel them, and then makes no more")
    func finish() async throws {
        let server = try LiveServer { .pattern(200_000, for: $0, slice: 20_000, pauseMilliseconds: 5) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let tasks = try (0..<4).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        await fixture.session.invalidate(cancellingTasks: false)
        for task in tasks { #expect(task.state == .completed(.success)) }
        guard case .session(.invalidated)? = fixture.recorder.events.last?.payload else {
            Issue.record("the last event is another one")
            return
        }
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .cancelled)
    }

    // MARK: - Default headers

    @Test("Default headers go with every task that has none of that name, and can be removed")
    func defaultHeaders() async throws {
        let server = try LiveServer { request in
            .respond(text: "\(request.field("x-one") ?? "-") \(request.field("x-two") ?? "-")")
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        try fixture.session.defaultHeaders.set("X-One", to: "1")
        try fixture.session.defaultHeaders.set("X-Two", to: "2")
        #expect(fixture.session.defaultHeaders.value("x-one") == "1")
        let own = fixture.run(try TaskRequest(url: server.url(), headers: [try HTTPField("x-two", "own")]))
        _ = await own.result()
        #expect(own.body() == Array("1 own".utf8))
        try fixture.session.defaultHeaders.set("x-one", to: nil)
        let other = fixture.run(try TaskRequest(url: server.url()))
        _ = await other.result()
        #expect(other.body() == Array("- 2".utf8))
        #expect(throws: TaskError.self) { try fixture.session.defaultHeaders.set("X-Bad", to: "a\nb") }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A thousand threads may write default headers while others read them")
    func manyWriters() async throws {
        let fixture = try SessionFixture()
        let headers = fixture.session.defaultHeaders
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask { try? headers.set("X-\(number % 10)", to: "\(number)") }
                group.addTask { _ = headers.all }
            }
        }
        #expect(headers.all.count == 10)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

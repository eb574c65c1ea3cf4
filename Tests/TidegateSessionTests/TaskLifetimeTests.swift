import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct TaskLifetimeTests {
    @Test("Cancelling ends a task in every state, once, and with one last event", arguments: Moment.allCases)
    func cancel(_ moment: Moment) async throws {
        let server = try LiveServer { request in
            request.path == "/busy" ? .respond(503, text: "busy") : LiveServerAnswer([.hang])
        }
        defer { server.stop() }
        let paths = ScriptedPathSource(moment == .atGate ? ScriptedPathSource.lost() : ScriptedPathSource.routed())
        let resolver = ScriptedResolver()
        resolver.hold()
        let fixture = try SessionFixture(
            .with { ($0.maxConnectionsPerHost, $0.retry) = (1, RetryPolicy(base: .seconds(60))) }, paths: paths,
            resolver: resolver)
        let first = fixture.session.makeTask(try TaskRequest(url: server.url("/first")))
        if moment == .queued {
            first.resume()
            #expect(await fixture.wait { first.state == .running(attempt: 1) })
        }
        let url = moment == .resolving ? "http://slow.test/" : server.url(moment == .backingOff ? "/busy" : "/")
        let task = fixture.session.makeTask(try TaskRequest(url: url))
        if moment != .created { task.resume() }
        #expect(await fixture.wait { moment.isReached(by: task, server) })
        task.cancel()
        task.cancel()
        let result = await task.result()
        #expect(result.outcome == .cancelled)
        #expect(result.failure == .cancelled)
        let phrase = fixture.eventNames(of: task)
        #expect(phrase.last == "completed(cancelled)")
        #expect(phrase.filter { $0.hasPrefix("completed") }.count == 1)
        for reason in HoldReason.allCases {
            #expect(
                phrase.filter { $0 == "held(\(reason.rawValue))" }.count
                    == phrase.filter { $0 == "released(\(reason.rawValue))" }.count)
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    enum Moment: CaseIterable {
        case created, atGate, queued, resolving, waitingForAnswer, backingOff

        func isReached(by task: TransferTask, _ server: LiveServer) -> Bool {
            switch self {
            case .created: task.state == .suspended
            case .atGate: if case .waiting(.path, _) = task.state { true } else { false }
            case .queued: task.state == .waiting(.concurrency, detail: nil)
            case .resolving: task.state == .running(attempt: 1)
            case .waitingForAnswer: !server.requests.isEmpty
            case .backingOff: task.state == .waiting(.backoff, detail: nil)
            }
        }
    }

    @Test(
        "A suspended download goes on with the same bytes, soon and after its connection was given back",
        arguments: [Duration.seconds(5), .milliseconds(10)])
    func suspend(pauseLimit: Duration) async throws {
        let scratch = try Scratch()
        let isResumed = Latch()
        let server = try LiveServer { request in
            guard request.rangeStart == nil else { return .pattern(600_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 600000"])
            return LiveServerAnswer([
                .send(head), .pattern(from: 0, count: 200_000), .waitFor(isResumed),
                .pattern(from: 200_000, count: 400_000),
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.pauseLimit = pauseLimit })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let task = fixture.run(request)
        #expect(await fixture.wait { task.currentProgress.receivedWire > 50_000 })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        if pauseLimit < .seconds(1) {
            #expect(await fixture.wait { fixture.eventNames(of: task).contains("attemptFailed(cancelled, free)") })
        }
        task.resume()
        isResumed.open()
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("a", 600_000))
        #expect(result.refetchedBytes == 0)
        #expect(result.attempts == 1)
        #expect(server.requests.count == (pauseLimit < .seconds(1) ? 2 : 1))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A deadline ends a task, waiting or not; suspension stops it")
    func deadline() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.options.deadline = .milliseconds(40)
        let waiting = fixture.session.makeTask(request)
        let result = await fixture.run(request).result()
        #expect(result.failure == .deadlineExceeded)
        #expect(result.explanation?.contains("40 ms") == true)
        #expect(waiting.state == .suspended)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Silence ends an attempt")
    func idle() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.retry = .never })
        var request = try TaskRequest(url: server.url())
        request.options.idleTimeout = .milliseconds(50)
        let result = await fixture.run(request).result()
        #expect(result.failure == .timedOut)
        #expect(result.attempts == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Retry-After is honoured, and a wait that would end too late fails at once")
    func retryAfter() async throws {
        let server = try LiveServer { request in
            if request.path == "/long" { return .respond(503, ["Retry-After: 7200"]) }
            return request.number == 1 ? .respond(429, ["Retry-After: 1"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.outcome == .success)
        #expect((result.held[.backoff] ?? .zero) >= .seconds(1))
        let long = fixture.run(try TaskRequest(url: server.url("/long")))
        let answer = await long.result()
        #expect(answer.failure == .retriesExhausted)
        #expect(answer.duration < .seconds(50))
        #expect(fixture.eventNames(of: long).contains("retriesExhausted(deadline)"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("After the last try the task says that every retry was used")
    func exhausted() async throws {
        let server = try LiveServer { _ in .respond(503, text: "busy") }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(attempts: 3, base: .milliseconds(1), cap: .milliseconds(2)) })
        let task = fixture.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.failure == .retriesExhausted)
        #expect(result.attempts == 3)
        #expect(result.status == 503)
        #expect(result.attribution?.party == .theirs)
        #expect(result.explanation == "\(server.url()): the server answered 503, after 3 attempts")
        #expect(server.requests.count == 3)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A connection that an address of this host refuses is this host's, and named")
    func refused() async throws {
        // Servers of other tests listen at 127.0.0.1 only.
        let url = "http://127.0.0.77:9/"
        let fixture = try SessionFixture(.with { $0.retry = .never })
        let result = await fixture.run(try TaskRequest(url: url)).result()
        #expect(result.failure == .connectFailed)
        #expect(result.attribution?.party == .mine)
        #expect(result.explanation?.hasPrefix(url) == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The end of a session cancels its tasks, is the last event, and cancels later tasks from the start")
    func invalidate() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let tasks = try (0..<5).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        let idle = fixture.session.makeTask(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { !server.requests.isEmpty })
        await fixture.session.invalidate(cancellingTasks: true)
        for task in tasks + [idle] { #expect(task.state == .completed(.cancelled)) }
        guard case .session(.invalidated)? = fixture.recorder.events.last?.payload else {
            Issue.record("the last event is another one")
            return
        }
        let late = fixture.run(try TaskRequest(url: server.url()))
        #expect(await late.result().outcome == .cancelled)
        await fixture.session.invalidate(cancellingTasks: false)
    }

    @Test("A full disk fails the task as such")
    func fullDisk() async throws {
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let full = try ScratchOutput("/dev/full")
        var request = try TaskRequest(url: server.url())
        request.destination = .descriptor(full.descriptor)
        let result = await fixture.run(request).result()
        #expect(result.failure == .diskFull)
        #expect(result.attribution?.party == .mine)
        #expect(result.explanation?.contains("No space left") == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A session that is released cancels its tasks: no caller waits forever")
    func released() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        var fixture: SessionFixture? = try SessionFixture()
        let task = try #require(fixture?.run(try TaskRequest(url: server.url())))
        fixture = nil
        #expect(await task.result().outcome == .cancelled)
    }

    @Test("A body larger than its bound fails, and none is asked for in compressed form")
    func bound() async throws {
        let server = try LiveServer { _ in .respond(text: "far too long") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .memory(limit: 5)
        let result = await fixture.run(request).result()
        #expect(result.failure == .tooLarge)
        #expect(server.requests.first?.field("accept-encoding") == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The end of a session starts none of the waiting tasks")
    func quietEnd() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.maxConnections = 2 })
        let tasks = try (0..<50).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        #expect(await fixture.wait { server.requests.count == 2 })
        await fixture.session.invalidate(cancellingTasks: true)
        let started = tasks.filter { fixture.eventNames(of: $0).contains("attemptStarted(1)") }
        #expect(started.count == 2)
        #expect(tasks.allSatisfy { $0.state == .completed(.cancelled) })
    }

    @Test("Five hundred downloads to one place end one by one, however many fail at once")
    func sameDestination() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { ($0.maxConnectionsPerHost, $0.retry) = (2, .never) })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let first = fixture.run(request)
        #expect(await fixture.wait { server.requests.count == 1 })
        let others = (0..<500).map { _ in fixture.run(request) }
        for other in others { #expect(await other.result().failure == .fileError) }
        #expect(await others[0].result().explanation == "another download to \(scratch.file("a")) is under way")
        first.cancel()
        _ = await first.result()
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Updates end with the entry that says completed")
    func updates() async throws {
        let server = try LiveServer { .pattern(200_000, for: $0, slice: 20_000, pauseMilliseconds: 5) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.session.makeTask(try TaskRequest(url: server.url()))
        let updates = task.updates()
        task.resume()
        var last: TaskInfo?
        for await info in updates { last = info }
        #expect(last?.state == .completed(.success))
        #expect(last?.progress.offset == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Lists show the living and those that ended lately")
    func lists() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.endedTasksKept = 2 })
        for _ in 0..<3 { _ = await fixture.run(try TaskRequest(url: server.url())).result() }
        let waiting = fixture.session.makeTask(try TaskRequest(url: server.url()))
        let states = fixture.session.tasks().map(\.state)
        #expect(states == [.completed(.success), .completed(.success), .suspended])
        #expect(fixture.session.task(withID: waiting.id)?.info.id == waiting.id)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

import CoreMetrics
import Foundation
import Synchronization
import Testing
import Tidegate
import TidegateTestKit

/// The requests, events and metrics of a monitor, as an app uses them.
@Suite(.timeLimit(.minutes(5))) struct MonitorTests {
    @Test("A task is made suspended, found by its id, and listed with its result")
    func task() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        let bus = EventBus(time: SystemClock())
        let received = RecordingSink()
        bus.attach(received)
        let monitor = try Monitor(bus: bus)
        let task = monitor.session.makeTask(try TaskRequest(url: server.url()))
        #expect(task.state == .suspended && monitor.task(task.id)?.state == .suspended)
        #expect(monitor.sessionStatistics().tasks[.suspended] == 1)
        task.resume()
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(task.body() == Array("tide".utf8))
        #expect(monitor.session.task(withID: task.id) === task)
        #expect(monitor.task(task.id)?.state == .completed(.success))
        #expect(monitor.tasks().map(\.id) == [task.id])
        await monitor.waitForFirstStatus()
        #expect(monitor.isReady)
        await monitor.stop()
        let endings = received.taskChanges(of: task.id).filter { if case .completed = $0 { true } else { false } }
        #expect(endings.count == 1)
        let isOver = received.events.contains { if case .session(.invalidated) = $0.payload { true } else { false } }
        #expect(isOver)
    }

    @Test("Stopping a monitor cancels what is under way, and a task made afterwards")
    func stop() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let monitor = try Monitor()
        let url = server.url()
        let request = Task { try await monitor.session.data(for: url) }
        #expect(await eventually { server.requests.count == 1 })
        await monitor.stop()
        await #expect(throws: TaskError.self) { try await request.value }
        let late = monitor.session.makeTask(try TaskRequest(url: url))
        #expect(await late.result().outcome == .cancelled)
    }

    @Test("A monitor tells which of its threads do not turn")
    func stalledThread() async throws {
        let mayStart = Latch()
        let monitor = try Monitor(MonitorConfiguration()) { while !mayStart.isOpen { usleep(10_000) } }
        #expect(await eventually { monitor.stalledThreads == [.netlink] })
        #expect(monitor.metrics.exposition(for: .text).contains("tidegate_thread_stalled{thread=\"netlink\"} 1\n"))
        mayStart.open()
        #expect(await eventually { monitor.stalledThreads.isEmpty })
        await monitor.stop()
    }

    @Test("The thread that observes connections is one of them, if there is one")
    func stalledObserver() async throws {
        let mayStart = Latch()
        var configuration = MonitorConfiguration()
        configuration.connections.isEnabled = true
        let monitor = try Monitor(configuration) { while !mayStart.isOpen { usleep(10_000) } }
        #expect(await eventually { monitor.stalledThreads == [.netlink, .observe] })
        mayStart.open()
        #expect(await eventually { monitor.stalledThreads.isEmpty })
        await monitor.stop()
    }

    @Test("A request returns body and response; a refused one throws with its status and body")
    func data() async throws {
        let server = try LiveServer { request in
            request.path == "/" ? .respond(text: request.method) : .respond(404, text: "{\"code\":7}")
        }
        defer { server.stop() }
        let monitor = try Monitor()
        let url = try #require(URL(string: server.url()))
        let (text, response) = try await monitor.session.data(for: server.url())
        #expect(response.status == 200 && text == Data("GET".utf8))
        #expect(try await monitor.session.data(for: url).0 == Data("GET".utf8))
        #expect(try await monitor.session.upload(Data("x".utf8), to: server.url()).0 == Data("POST".utf8))
        #expect(try await monitor.session.upload(Data("x".utf8), to: url, method: "PUT").0 == Data("PUT".utf8))
        do throws(TaskError) {
            _ = try await monitor.session.data(for: server.url("/absent"))
            Issue.record("a missing page was returned")
        } catch {
            #expect(error.reason == .httpStatus && error.status == 404)
            #expect(error.body == Array("{\"code\":7}".utf8))
            #expect(error.attribution?.party == .mine)
        }
        #expect(server.requests.last?.path == "/absent")
        await monitor.stop()
    }

    @Test("A download appears when it is whole, with progress up to its last byte; files are sent from file URLs")
    func download() async throws {
        let server = try LiveServer { request in
            request.method == "PUT" ? .respond(text: "\(request.body.count)") : .pattern(300_000, for: request)
        }
        defer { server.stop() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let monitor = try Monitor()
        let (file, url) = (folder.appendingPathComponent("a"), try #require(URL(string: server.url())))
        var last: Int64 = 0
        let result = try await monitor.session.download(url, to: file) { last = $0.receivedWire }
        #expect(result.outcome == .success && last == 300_000)
        let content = try Data(contentsOf: file)
        #expect(content == Data((0..<300_000).map { LiveServerAnswer.byte(at: $0) }))
        #expect(try await monitor.session.upload(file: file, to: url).0 == Data("300000".utf8))
        await monitor.stop()
    }

    @Test("A subscription has the events from its start on, and ends with its Swift task")
    func events() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        let monitor = try Monitor()
        let events = monitor.events()
        let (names, continuation) = AsyncStream.makeStream(of: String.self)
        let reader = Task {
            for await event in events { if case .task = event.payload { continuation.yield(event.name) } }
            continuation.finish()
        }
        _ = try await monitor.session.data(for: server.url())
        var seen: [String] = []
        for await name in names {
            seen.append(name)
            // The reader's end ends the stream of names.
            if name == "task.completed" { reader.cancel() }
        }
        #expect(seen.first == "task.created" && seen.last == "task.completed", "\(seen)")
        #expect(events.dropped == 0)
        await monitor.stop()
    }

    @Test("Hooks and an observer of the configuration are used for every task")
    func hooks() async throws {
        let server = try LiveServer { request in
            request.path == "/" ? .respond(302, ["Location: /there"]) : .respond(text: "there")
        }
        defer { server.stop() }
        let completed = Mutex<[TaskOutcome]>([])
        var configuration = MonitorConfiguration()
        configuration.hooks = SessionHooks(redirect: { _, _, _ in .stop })
        configuration.observer = TaskObserver(completion: { _, result in
            completed.withLock { $0.append(result.outcome) }
        })
        let monitor = try Monitor(configuration)
        let error = await #expect(throws: TaskError.self) { try await monitor.session.data(for: server.url()) }
        #expect(error?.status == 302)
        _ = try await monitor.session.data(for: server.url("/there"))
        #expect(completed.withLock { $0 } == [.failure, .success])
        #expect(server.requests.map(\.path) == ["/", "/there"])
        await monitor.stop()
    }

    @Test("The exposition has requests, levels, targets and the program's own metrics, from the first one on")
    func metrics() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        var configuration = MonitorConfiguration()
        let (plain, named) = (try Target("127.0.0.1:80"), try Target("127.0.0.1:\(server.port)"))
        configuration.reachability.targets = [plain, named]
        configuration.targetNames = [named: "server"]
        let monitor = try Monitor(configuration)
        await monitor.waitForFirstStatus()
        _ = try await monitor.session.data(for: server.url())
        Counter(label: "app_jobs", factory: monitor.metrics.factory()).increment(by: 3)
        let text = monitor.metrics.exposition(for: .text)
        for sample in [
            "tidegate_reachability_level{level=\"unknown\"} 0", "tidegate_target_routed{target=\"127.0.0.1:80\"} 1",
            "tidegate_target_routed{target=\"server\"} 1",
            "tidegate_task_completions_total{kind=\"data\",outcome=\"success\"} 1", "app_jobs_total 3",
        ] {
            #expect(text.contains("\n\(sample)\n"), "\(sample)")
        }
        #expect(monitor.metrics.exposition().hasSuffix("\n# EOF\n"))
        #expect(monitor.metrics.encodedExposition(for: .protobuf).count > 1000)
        await monitor.stop()
    }

    // The README shows these lines, and this compiles them; it is not called, because it makes a request to another host.
    private func example() async throws {
        let monitor = try Monitor()
        let task = monitor.session.makeTask(try TaskRequest(url: "https://example.com/data.json"))
        task.resume()
        print(await task.result().outcome, monitor.status.level)
    }
}

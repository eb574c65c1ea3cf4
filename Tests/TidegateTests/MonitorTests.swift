import Testing
import Tidegate
import TidegateTestKit

/// The front door, as an app uses it.
@Suite(.timeLimit(.minutes(5))) struct MonitorTests {
    @Test("A monitor makes a request, tells of it on its bus, and ends in order")
    func request() async throws {
        let server = try LiveServer { _ in .respond(text: "tide") }
        defer { server.stop() }
        let bus = EventBus(time: SystemClock())
        let received = RecordingSink()
        bus.attach(received)
        let monitor = try Monitor(bus: bus)
        let task = monitor.session.makeTask(try TaskRequest(url: server.url()))
        task.resume()
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(task.body() == Array("tide".utf8))
        #expect(monitor.task(task.id)?.state == .completed(.success))
        #expect(await eventually { monitor.isReady })
        await monitor.stop()
        let endings = received.taskChanges(of: task.id).filter { if case .completed = $0 { true } else { false } }
        #expect(endings.count == 1)
        let isOver = received.events.contains { if case .session(.invalidated) = $0.payload { true } else { false } }
        #expect(isOver)
    }

    // The README shows these lines; that they compile is what is tested. Nobody calls them: they ask another host.
    private func example() async throws {
        let monitor = try Monitor()
        let task = monitor.session.makeTask(try TaskRequest(url: "https://example.com/data.json"))
        task.resume()
        print(await task.result().outcome, monitor.status.level)
    }
}

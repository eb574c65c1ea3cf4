internal import Synchronization
internal import TidegateCore
internal import TidegateMetrics
internal import TidegateTestKit

@testable import TidegateServer

/// A monitor that knows what a test tells it.
final class FakeView: MonitorView {
    private let state: Mutex<State>

    struct State {
        var status = EveryEvent.status
        var tasks: [TaskInfo] = []
        var statistics = EveryEvent.statistics
        var isReady = true
    }

    init(_ state: State = State()) { self.state = Mutex(state) }

    func change(_ body: (inout State) -> Void) { self.state.withLock { body(&$0) } }

    func status() -> ReachabilityStatus { self.state.withLock { $0.status } }
    func tasks() -> [TaskInfo] { self.state.withLock { $0.tasks } }
    func task(_ id: TaskID) -> TaskInfo? { self.tasks().first { $0.id == id } }
    func sessionStatistics() -> SessionStatistics { self.state.withLock { $0.statistics } }
    var isReady: Bool { self.state.withLock { $0.isReady } }
}

/// An endpoint with everything that it needs.
struct Fixture {
    let time = ManualTime()
    let view = FakeView()
    let bus: EventBus
    let recorder: MetricsRecorder
    let history = EventHistory(boot: "test")
    let timeline: TimelineSink
    var configuration = EndpointConfiguration()

    init() {
        self.bus = EventBus(time: self.time)
        self.timeline = TimelineSink(from: self.time.monotonic())
        self.bus.attach(self.history)
        self.bus.attach(self.timeline)
        let build = BuildInfo(version: "1.2.3", revision: "abc", swiftVersion: "6.3", architecture: "x86_64")
        self.recorder = MetricsRecorder(build: build, start: self.time.monotonic(), wall: self.time.wall())
        self.bus.attach(Passing(recorder: self.recorder))
        self.configuration.listen = [ListenAddress(host: "127.0.0.1", port: 0)]
        self.configuration.version = "1.2.3"
        if let target = EveryEvent.target { self.configuration.targetNames = [target: "api"] }
    }

    var answers: Answers {
        Answers(
            configuration: self.configuration, view: self.view, bus: self.bus, recorder: self.recorder, time: self.time,
            history: self.history, timeline: self.timeline)
    }

    func ask(
        _ method: String, _ target: String, accept: String? = nil, encoding: String? = nil, inFlight: Int = 1
    ) async -> Answer {
        let question = Question(method: method, target: target, accept: accept, acceptEncoding: encoding)
        return await self.answers.answer(question, inFlight: inFlight)
    }

    var endpoint: Endpoint {
        Endpoint(
            configuration: self.configuration, view: self.view, bus: self.bus, recorder: self.recorder, time: self.time,
            history: self.history)
    }

    /// Runs the endpoint for as long as `body` takes; passes the bound addresses.
    func serving(_ body: ([ListenAddress]) async throws -> Void) async throws {
        let endpoint = self.endpoint
        let (listening, sayListening) = AsyncStream.makeStream(of: [ListenAddress].self)
        let running = Task {
            defer { sayListening.finish() }
            try await endpoint.run { sayListening.yield($0) }
        }
        guard let addresses = await listening.first(where: { _ in true }) else { return try await running.value }
        do {
            try await body(addresses)
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        try await running.value
    }

    func serving(_ body: (Int) async throws -> Void) async throws {
        try await self.serving { (addresses: [ListenAddress]) in try await body(addresses.first?.port ?? 0) }
    }

    private struct Passing: EventSink {
        let recorder: MetricsRecorder

        func receive(_ event: Event) { self.recorder.record(event) }
    }
}

extension TaskInfo {
    /// A download that is 40 % here.
    static func example(name: String? = "sync", url: String = "http://10.0.0.1/file") -> TaskInfo {
        var generator = SystemRandomNumberGenerator()
        let created = WallTime(microseconds: 1_790_000_000_000_000)
        return TaskInfo(
            id: TaskID(at: created, using: &generator), name: name, kind: .download, method: "GET", url: url,
            state: .running(attempt: 1), progress: TransferProgress(receivedWire: 400, expected: 1000, attempt: 1),
            created: created, started: created, file: "/tmp/file")
    }
}

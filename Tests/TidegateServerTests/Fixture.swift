internal import Testing
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import NIOEmbedded
internal import Synchronization
internal import TidegateCore
internal import TidegateIncidents
internal import TidegateMetrics
internal import TidegateTestKit

@testable import TidegateServer

/// A monitor whose state a test sets.
final class FakeView: MonitorView {
    private let state: Mutex<State>

    struct State {
        var status = EveryEvent.status
        var tasks: [TaskInfo] = []
        var statistics = EveryEvent.statistics
        var isReady = true
        var threads: [MonitorThread: ThreadLoad] = [.netlink: ThreadLoad()]
        /// The status after the first verdict, if that verdict is missing.
        var firstStatus: ReachabilityStatus?
        var diagnosis: HostDiagnosis?
        /// What scheduled probes have found.
        var scheduledProbes: [ScheduledProbeReport] = []
        /// What observes the connections of other programs.
        var connections: (any ConnectionObservation)?
        /// How often the page was looked at.
        var pageViews = 0
        /// How often tasks were listed.
        var listings = 0
    }

    init(_ state: State = State()) { self.state = Mutex(state) }

    func change(_ body: (inout State) -> Void) { self.state.withLock { body(&$0) } }

    var status: ReachabilityStatus { self.state.withLock { $0.status } }
    func tasks() -> [TaskInfo] { self.state.withLock { $0.tasks } }
    func tasks(after: TaskID?, atMost limit: Int) -> TaskSlice<TaskInfo> {
        self.change { $0.listings += 1 }
        return TaskSlice(of: self.tasks(), after: after, atMost: limit, id: \.id, make: { $0 })
    }

    func taskSample(atMost limit: Int) -> TaskSample {
        self.change { $0.listings += 1 }
        return TaskSample(
            of: self.tasks(), atMost: limit, isNamed: { $0.displayName != nil }, state: \.state, info: { $0 })
    }

    var listings: Int { self.state.withLock { $0.listings } }

    func task(_ id: TaskID) -> TaskInfo? { self.tasks().first { $0.id == id } }
    func sessionStatistics() -> SessionStatistics { self.state.withLock { $0.statistics } }
    var threads: [MonitorThread: ThreadLoad] { self.state.withLock { $0.threads } }
    var isReady: Bool { self.state.withLock { $0.isReady } }

    var diagnosis: HostDiagnosis? { self.state.withLock { $0.diagnosis } }
    var connectionObservation: (any ConnectionObservation)? { self.state.withLock { $0.connections } }
    var scheduledProbes: [ScheduledProbeReport] { self.state.withLock { $0.scheduledProbes } }
    var pageViews: Int { self.state.withLock { $0.pageViews } }

    func pageViewed() { self.change { $0.pageViews += 1 } }

    func waitForFirstStatus(within limit: Duration) async {
        self.change { if let first = $0.firstStatus.take() { ($0.status, $0.isReady) = (first, true) } }
    }
}

/// What a route responded.
struct RoutedResponse {
    let status: Int
    let handler: String
    let headers: HTTPFields
    /// Empty for a stream.
    let body: [UInt8]

    init(_ response: Response, _ handler: EndpointRoutes.HandlerLabel? = nil) async throws {
        self.status = response.status.code
        self.handler = handler?.rawValue ?? ""
        self.headers = response.headers
        let collected = CollectedBody()
        if !response.isStream { try await response.body.write(collected) }
        self.body = collected.bytes
    }

    var text: String { String(decoding: self.body, as: UTF8.self) }
}

private final class CollectedBody: ResponseBodyWriter {
    private(set) var bytes: [UInt8] = []

    func write(_ buffer: ByteBuffer) async throws { self.bytes += Array(buffer.readableBytesView) }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

/// An endpoint with everything that it needs.
struct Fixture {
    let time = ManualTime()
    let view = FakeView()
    let bus: EventBus
    let recorder: MetricsRecorder
    let history = EventHistory(boot: "test")
    let page: PageHistory
    var configuration: EndpointConfiguration
    /// What answers `/probe`.
    var probes: (any ProbeService)?
    /// What is known of the scheduled probes.
    var scheduledProbes: [ScheduledProbeReport] = []
    /// What records incidents.
    var incidents: (any IncidentRecord)?
    /// What reads the configuration file again.
    var reload: ConfigurationReload?

    init() {
        self.bus = EventBus(time: self.time)
        var configuration = EndpointConfiguration()
        configuration.listen = [ListenAddress(host: "127.0.0.1", port: 0)]
        configuration.version = "1.2.3"
        if let target = EveryEvent.target { configuration.targetNames = [target: "api"] }
        self.configuration = configuration
        self.page = PageHistory(from: self.time.wall(), configuration: configuration)
        self.bus.attach(self.history)
        self.bus.attach(self.page)
        let build = BuildInfo(version: "1.2.3", revision: "abc", swiftVersion: "6.3", architecture: "x86_64")
        self.recorder = MetricsRecorder(
            build: build, start: self.time.monotonic(), wall: self.time.wall(),
            targetNames: EveryEvent.target.map { [$0: "api"] } ?? [:])
        self.bus.attach(MetricsSink(recorder: self.recorder))
    }

    var routes: EndpointRoutes {
        let scheduled = self.scheduledProbes
        return EndpointRoutes(
            EndpointRoutes.Dependencies(
                configuration: self.configuration, view: self.view, bus: self.bus, recorder: self.recorder,
                time: self.time, history: self.history, page: self.page, nextRuns: { [:] },
                probes: self.probes, scheduledProbes: { scheduled }, reload: self.reload,
                incidents: self.incidents),
            slots: EventStreamSlots(limit: self.configuration.maxEventStreams))
    }

    /// What the routes respond, without a socket.
    func respond(
        _ method: String, _ target: String, accept: String? = nil, encoding: String? = nil,
        fields: HTTPFields = [:], requests: RequestTable = RequestTable(limit: 40)
    ) async throws -> RoutedResponse {
        let channel = NIOAsyncTestingChannel()
        // As if a client had connected.
        try await channel.testingEventLoop.executeInContext {
            channel._channelCore.registerAlreadyConfigured0(promise: nil)
        }
        let answer = try await self.respond(
            method, target, accept: accept, encoding: encoding, fields: fields, requests: requests, on: channel)
        return try #require(answer)
    }

    /// The same for the client of a channel; nil if it has left.
    func respond(
        _ method: String, _ target: String, accept: String? = nil, encoding: String? = nil,
        fields: HTTPFields = [:], requests: RequestTable = RequestTable(limit: 40), on channel: any Channel
    ) async throws -> RoutedResponse? {
        let method = try #require(HTTPRequest.Method(method))
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: target)
        head.headerFields = fields
        head.headerFields[.accept] = accept
        head.headerFields[.acceptEncoding] = encoding
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        let place = RequestPlace(requests, peer: PeerAddress(ip: nil))
        let context = ServerContext(source: .init(channel: channel, inFlight: 1, place: place))
        guard let (response, handler) = await self.routes.respond(to: request, context: context) else { return nil }
        return try await RoutedResponse(response, handler)
    }

    func endpoint(access: (any AccessPolicyLoader)? = nil) -> Endpoint {
        Endpoint(
            configuration: self.configuration, view: self.view, bus: self.bus, recorder: self.recorder, time: self.time,
            history: self.history, access: access, probes: self.probes,
            scheduledProbes: { [view = self.view] in view.scheduledProbes }, reload: self.reload,
            incidents: self.incidents)
    }

    /// Runs the endpoint for as long as `body` takes; passes the bound addresses.
    func servingAddresses(
        _ access: (any AccessPolicyLoader)? = nil, _ body: ([ListenAddress]) async throws -> Void
    ) async throws {
        let endpoint = self.endpoint(access: access)
        let (listening, continuation) = AsyncStream.makeStream(of: [ListenAddress].self)
        let running = Task {
            defer { continuation.finish() }
            try await endpoint.run { continuation.yield($0) }
        }
        guard let addresses = await listening.first(where: { _ in true }) else { return try await running.value }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(addresses)) } catch { outcome = .failure(error) }
        running.cancel()
        try await running.value
        try outcome.get()
    }

    /// Runs the endpoint for as long as `body` takes; passes the port of its first address.
    func serving(
        _ access: (any AccessPolicyLoader)? = nil, _ body: (Int) async throws -> Void
    ) async throws {
        try await self.servingAddresses(access) { try await body($0.first?.port ?? 0) }
    }

    private struct MetricsSink: EventSink {
        let recorder: MetricsRecorder

        func receive(_ event: Event) { self.recorder.record(event) }
    }
}

extension TaskInfo {
    /// A download at 40 %.
    static func example(name: String? = "sync", url: String = "http://10.0.0.1/file") -> TaskInfo {
        var generator = SystemRandomNumberGenerator()
        let created = WallTime(microseconds: 1_790_000_000_000_000)
        return TaskInfo(
            id: TaskID(at: created, using: &generator), name: name, kind: .download, method: "GET", url: url,
            state: .running(attempt: 1), progress: TransferProgress(receivedWire: 400, expected: 1000, attempt: 1),
            created: created, started: created, file: "/tmp/file")
    }
}

extension TaskSample {
    /// All of these tasks.
    init(_ tasks: [TaskInfo]) {
        self.init(of: tasks, atMost: tasks.count, isNamed: { $0.displayName != nil }, state: \.state, info: { $0 })
    }
}

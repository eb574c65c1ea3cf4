internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore
internal import TidegateMetrics

/// Everything that the endpoint answers; opens no socket.
struct EndpointRoutes: Sendable {
    /// What the routes read.
    struct Dependencies: Sendable {
        let configuration: EndpointConfiguration
        let view: any MonitorView
        let bus: EventBus
        let recorder: MetricsRecorder
        let time: any TimeSource
        let history: EventHistory
        let timeline: TimelineSink
    }

    /// The values of the `handler` label.
    enum Handler: String, Sendable {
        case metrics, page, status, tasks, task, events, healthy, ready, other
    }

    private let dependencies: Dependencies
    private let metrics: MetricsRoute
    private let events: EventsRoute
    private let responder: RouterResponder<ServerContext>
    private let handlers: [String: Handler]

    /// Routes whose requests go through `middlewares` first, the first outermost.
    init(
        _ dependencies: Dependencies, slots: EventStreamSlots,
        middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = []
    ) {
        let metrics = MetricsRoute(dependencies: dependencies)
        let events = EventsRoute(dependencies: dependencies, slots: slots)
        let table = RouteTable(format: .text, middlewares: middlewares)
        let limit = RequestLimitMiddleware(limit: dependencies.configuration.maxRequests)
        var handlers: [String: Handler] = [:]
        func add(_ path: RouterPath, _ handler: Handler, isLimited: Bool = true, _ use: @escaping RouteTable.Handler) {
            table.add(path, [(.get, use), (.head, use)], middleware: isLimited ? limit : nil)
            handlers[path.description] = handler
        }
        let pages = StatusRoutes(dependencies: dependencies)
        // A busy process is still alive.
        add("/-/healthy", .healthy, isLimited: false) { _, _ in .text("Tidegate is healthy.") }
        add("/-/ready", .ready, isLimited: false) { _, _ in pages.ready() }
        add(RouterPath(dependencies.configuration.telemetryPath), .metrics) {
            await metrics.respond(to: $0, context: $1)
        }
        add("/", .page) { _, _ in pages.page() }
        add("/api/v1/status", .status) { _, _ in pages.status() }
        add("/api/v1/tasks", .tasks) { _, _ in pages.tasks() }
        add("/api/v1/tasks/{id}", .task) { pages.task($1.parameters.get("id") ?? "") }
        add("/api/v1/events", .events) { events.respond(to: $0, context: $1) }
        self.dependencies = dependencies
        self.metrics = metrics
        self.events = events
        self.responder = table.responder()
        self.handlers = handlers
    }

    /// The response to a request, and the part of the endpoint that made it.
    func respond(to request: Request, context: ServerContext) async -> (response: Response, handler: Handler) {
        var head = request.head
        // A fragment is no part of a request target (RFC 9112 3.2); a client that sends one means what stands before.
        head.path = head.path.map { String($0.prefix { $0 != "#" }) }
        let response: Response
        do {
            response = try await self.responder.respond(
                to: Request(head: head, body: request.body), context: context)
        } catch {
            response = ProblemDocument(.internalServerError, "Internal error.").response
        }
        // The router knows the route only of requests with the right method.
        let path = String(head.path?.prefix { $0 != "?" } ?? "")
        return (response, self.handlers[path] ?? context.endpointPath.flatMap { self.handlers[$0] } ?? .other)
    }

    /// The samples that a scrape would return now.
    func samples(inFlight: Int) -> [MetricSample] { self.metrics.samples(inFlight: inFlight) }
}

/// The page, and the monitor's state as JSON.
struct StatusRoutes: Sendable {
    let dependencies: EndpointRoutes.Dependencies

    func ready() -> Response {
        self.dependencies.view.isReady
            ? .text("Tidegate is ready.")
            : .text("Tidegate has no first verdict yet.", status: .serviceUnavailable)
    }

    func page() -> Response {
        let (view, time, history) = (self.dependencies.view, self.dependencies.time, self.dependencies.history)
        let page = PageView(
            status: view.status, tasks: view.tasks(), timeline: self.dependencies.timeline.svg(at: time),
            events: history.newest(PageView.eventLimit, where: { $0.relevance == .page }),
            now: time.wall(), configuration: self.dependencies.configuration)
        var response = Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page.html)))
        response.headers[.contentSecurityPolicy] = PageView.contentSecurityPolicy
        return response
    }

    func status() -> Response { .json(self.dependencies.view.status.json) }

    func tasks() -> Response {
        .json(["schema": 1, "tasks": .array(self.dependencies.view.tasks().map(\.json))])
    }

    func task(_ text: String) -> Response {
        guard let id = TaskID(text), let task = self.dependencies.view.task(id) else {
            return ProblemDocument(.notFound, "no task has this ID", format: .json).response
        }
        return .json(TaskDocument(task).response)
    }
}

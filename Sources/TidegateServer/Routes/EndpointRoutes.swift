internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
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
        let page: PageHistory
        /// When scheduled tasks run next, by their names.
        let nextRuns: @Sendable () async -> [String: WallTime]
        /// Answers `/probe`; nil if nothing does.
        let probes: (any ProbeService)?
        /// What scheduled probes have found.
        var scheduledProbes: @Sendable () async -> [ScheduledProbeReport] = { [] }
        /// Reads the configuration file again; nil without a file.
        var reload: ConfigurationReload?
    }

    /// The values of the `handler` label.
    enum HandlerLabel: String, Sendable {
        case metrics, page, status, targets, probes, connections, tasks, task, events, healthy, ready, probe, config,
            logs, reload, other
    }

    let status: StatusRoutes
    private let responder: RouterResponder<ServerContext>
    private let handlers: [String: HandlerLabel]

    /// Routes whose requests go through `middlewares` first, the first outermost.
    init(
        _ dependencies: Dependencies, slots: EventStreamSlots,
        middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = []
    ) {
        let events = EventsRoute(dependencies: dependencies, slots: slots)
        let table = RouteTable(format: .text, middlewares: middlewares)
        let telemetry = RouterPath(dependencies.configuration.telemetryPath)
        var handlers: [String: HandlerLabel] = [:]
        func add(
            _ path: RouterPath, _ handler: HandlerLabel, isLimited: Bool = true, _ use: @escaping RouteTable.Handler
        ) {
            let limit = RequestLimitMiddleware(isScrape: path == telemetry)
            table.add(path, [(.get, use), (.head, use)], middleware: isLimited ? limit : nil)
            handlers[path.description] = handler
        }
        let status = StatusRoutes(dependencies: dependencies)
        // No request limit: a busy process must still answer its health checks.
        add("/-/healthy", .healthy, isLimited: false) { _, _ in status.healthy() }
        add("/-/ready", .ready, isLimited: false) { _, _ in status.ready() }
        add(telemetry, .metrics) { await status.metrics(to: $0, context: $1) }
        add("/", .page) { request, _ in await status.page(to: request) }
        add("/api/v1/status", .status) { _, _ in status.status() }
        add("/api/v1/targets", .targets) { _, _ in status.targets() }
        add("/api/v1/probes", .probes) { _, _ in await status.probes() }
        add("/api/v1/connections", .connections) { _, _ in await status.connections() }
        add("/api/v1/tasks", .tasks) { request, _ in await status.tasks(to: request) }
        add("/api/v1/tasks/{id}", .task) { status.task($1.parameters.get("id") ?? "") }
        add("/api/v1/events", .events) { events.respond(to: $0, context: $1) }
        if let probes = dependencies.probes {
            let routes = ProbeRoutes(service: probes)
            // As many as Prometheus has targets wait at a time, each for its own; connections are limited.
            add("/probe", .probe, isLimited: false) { await routes.probe($0, $1) }
            add("/config", .config) { _, _ in routes.configuration() }
            add("/logs", .logs) { request, _ in routes.logs(request) }
        }
        let reload = ReloadRoute(reload: dependencies.reload)
        let reloadPath: RouterPath = "/-/reload"
        table.add(
            reloadPath, [(.post, { request, _ in await reload.respond(to: request) })],
            middleware: RequestLimitMiddleware(isScrape: false))
        handlers[reloadPath.description] = .reload
        self.status = status
        self.responder = table.responder()
        self.handlers = handlers
    }

    /// The response to a request, and the part of the endpoint that made it; nil for a client that has left.
    func respond(to request: Request, context: ServerContext) async -> (response: Response, handler: HandlerLabel)? {
        guard context.channel.isActive else { return nil }
        var head = request.head
        // A fragment is no part of a request target (RFC 9112 3.2); a client that sends one means what stands before.
        if let path = head.path, path.utf8.contains(UInt8(ascii: "#")) { head.path = String(path.prefix { $0 != "#" }) }
        let response: Response
        do {
            response = try await self.responder.respond(
                to: Request(head: head, body: request.body), context: context)
        } catch {
            response = .problem(.internalServerError, "Internal error.")
        }
        // For a wrong method the router sets no `endpointPath`; then the path itself names the handler.
        let path = head.path.map { String(Substring($0.utf8.prefix { $0 != UInt8(ascii: "?") })) } ?? ""
        return (response, self.handlers[path] ?? context.endpointPath.flatMap { self.handlers[$0] } ?? .other)
    }
}

/// Reads the configuration file again, as `/-/reload` asks.
///
/// Returns the changed keys that need a restart.
package typealias ConfigurationReload = @Sendable () async throws(ReloadFailure) -> [String]

/// Why a configuration file was not taken; what ran before still does.
package struct ReloadFailure: Error, Sendable, Hashable {
    /// The first problem, with its file, line and key.
    package let problem: String
    /// How many more there are.
    package let others: Int

    /// A failure with its first problem.
    package init(problem: String, others: Int = 0) {
        self.problem = problem
        self.others = others
    }
}

/// `/-/reload`: a POST reads the configuration file again and is answered when what it says holds.
struct ReloadRoute: Sendable {
    /// Nil if there is no file.
    let reload: ConfigurationReload?

    /// 200, or 500 with the problem as blackbox_exporter begins it.
    func respond(to request: Request) async -> Response {
        guard request.head.isOfThisSite else {
            return .problem(
                .forbidden, "The Origin header names another site, whose pages may not reload the configuration.")
        }
        guard let reload else {
            return .problem(.notFound, "There is no configuration file: start with --config.file.")
        }
        do throws(ReloadFailure) {
            let waiting = try await reload()
            guard !waiting.isEmpty else { return .text("Reloaded.") }
            return .text("Reloaded; these changed keys need a restart: \(waiting.joined(separator: ", ")).")
        } catch {
            return .text(error.text, status: .internalServerError)
        }
    }
}

extension HTTPRequest {
    /// False if a page of another site sent it: a browser sends a page's POST wherever the page likes, with the user's
    /// credentials, and names the page's origin.
    var isOfThisSite: Bool {
        guard let origin = self.headerFields[.origin] else { return true }
        guard let host = self.authority?.lowercased() else { return false }
        return ["http://\(host)", "https://\(host)"].contains(origin.lowercased())
    }
}

extension ReloadFailure {
    /// One sentence for who asked.
    fileprivate var text: String {
        let number = self.others == 1 ? "1 more problem" : "\(self.others) more problems"
        let more = self.others > 0 ? " (and \(number), in the log)" : ""
        return "failed to reload config: \(self.problem)\(more); the former configuration stays"
    }
}

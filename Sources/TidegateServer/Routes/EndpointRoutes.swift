internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import TidegateCore
internal import TidegateIncidents
internal import TidegateMetrics

/// The routes of the endpoint; opens no socket.
struct EndpointRoutes: Sendable {
    /// The dependencies of the routes.
    struct Dependencies: Sendable {
        let configuration: EndpointConfiguration
        let view: any MonitorView
        let bus: EventBus
        let recorder: MetricsRecorder
        let time: any TimeSource
        let history: EventHistory
        let page: PageHistory
        /// When scheduled tasks run next, by name.
        let nextRuns: @Sendable () async -> [String: WallTime]
        /// Answers `/probe`; nil without probes.
        let probes: (any ProbeService)?
        /// Returns the results of scheduled probes.
        var scheduledProbes: @Sendable () async -> [ScheduledProbeReport] = { [] }
        /// Reloads the configuration file; nil without a file.
        var reload: ConfigurationReload?
        /// What records incidents; nil if nothing does.
        var incidents: (any IncidentRecord)?
    }

    /// The values of the `handler` label.
    enum HandlerLabel: String, Sendable {
        case metrics, page, status, targets, probes, connections, incidents, incident, incidentPage = "incident_page",
            availability, guarded = "guard",
            tasks, task, events, healthy, ready, probe, config, logs, reload, other
    }

    let status: StatusRoutes
    private let responder: RouterResponder<ServerContext>
    private let handlers: [String: HandlerLabel]

    /// Routes whose requests pass through `middlewares` first, the first one outermost.
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
        let incidents = IncidentRoutes(dependencies: dependencies)
        for (path, handler, use) in incidents.endpoint { add(path, handler, use) }
        if let probes = dependencies.probes {
            let routes = ProbeRoutes(service: probes)
            // As many requests may wait as Prometheus has targets; connections are limited instead.
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

    /// The response to a request, and the handler that made it; nil for a client that has disconnected.
    func respond(to request: Request, context: ServerContext) async -> (response: Response, handler: HandlerLabel)? {
        guard context.channel.isActive else { return nil }
        var head = request.head
        // A fragment is not part of a request target (RFC 9112 3.2); a client that sends one means the text before it.
        if let path = head.path, path.utf8.contains(UInt8(ascii: "#")) { head.path = String(path.prefix { $0 != "#" }) }
        let response: Response
        do {
            response = try await self.responder.respond(
                to: Request(head: head, body: request.body), context: context)
        } catch {
            response = .problem(.internalServerError, "Internal error.")
        }
        // For a wrong method the router sets no `endpointPath`, so the path itself identifies the handler.
        let path = head.path.map { String(Substring($0.utf8.prefix { $0 != UInt8(ascii: "?") })) } ?? ""
        return (response, self.handlers[path] ?? context.endpointPath.flatMap { self.handlers[$0] } ?? .other)
    }
}

/// Reloads the configuration file for `/-/reload`.
///
/// Returns the changed keys that need a restart.
package typealias ConfigurationReload = @Sendable () async throws(ReloadFailure) -> [String]

/// Why a configuration file was rejected; the running configuration stays.
package struct ReloadFailure: Error, Sendable, Hashable {
    /// The first problem, with its file, line and key.
    package let problem: String
    /// The number of further problems.
    package let others: Int

    /// A failure with its first problem.
    package init(problem: String, others: Int = 0) {
        self.problem = problem
        self.others = others
    }
}

/// `/-/reload`: a POST reloads the configuration file, and is answered once the file has taken effect.
struct ReloadRoute: Sendable {
    /// Nil if there is no file.
    let reload: ConfigurationReload?

    /// 200, or 500 with a message that begins as in blackbox_exporter.
    func respond(to request: Request) async -> Response {
        guard request.head.isOfThisSite else {
            return .problem(
                .forbidden, "A page of another site sent this request, and may not reload the configuration.")
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
    /// False if a page of another site made a browser send the request.
    ///
    /// A browser sends a page's requests to any address, with the user's credentials. It names the relation of the two
    /// sites (Fetch Metadata); over plain http to another host it names only the page, in Origin or Referer.
    var isOfThisSite: Bool {
        let fields = self.headerFields
        let site = HTTPField.Name("Sec-Fetch-Site").flatMap { fields[$0] }
        if let site, !["none", "same-origin"].contains(site) { return false }
        let own = self.authority.map { ["http://\($0)/".lowercased(), "https://\($0)/".lowercased()] } ?? []
        return [fields[.origin].map { $0 + "/" }, site == nil ? fields[.referer] : nil].allSatisfy { page in
            page.map { page in own.contains { page.lowercased().hasPrefix($0) } } ?? true
        }
    }
}

extension ReloadFailure {
    /// One sentence for the client.
    fileprivate var text: String {
        let number = self.others == 1 ? "1 more problem" : "\(self.others) more problems"
        let more = self.others > 0 ? " (and \(number), in the log)" : ""
        return "failed to reload config: \(self.problem)\(more); the former configuration stays"
    }
}

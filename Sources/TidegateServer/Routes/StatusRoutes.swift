internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore
internal import TidegateIncidents
internal import TidegateMetrics

/// The page, the exposition, and the monitor's state as JSON.
struct StatusRoutes: Sendable {
    let dependencies: EndpointRoutes.Dependencies
    private let lists = ResponseCoalescer<TaskPage>()
    private let pages = ResponseCoalescer<PageChoice>()
    private let scrapes = ResponseCoalescer<Scrape>()

    // Further tasks are only counted, because the page has no room for them.
    private static let sampleLimit = 1000
    // Name lookups may fail slowly, and Prometheus waits 10 seconds for a response.
    private static let firstStatusLimit = Duration.seconds(2)

    func healthy() -> Response {
        let stalled = MonitorThread.allCases.filter(self.dependencies.view.stalledThreads.contains)
        guard let first = stalled.first else { return .text("Tidegate is healthy.") }
        return .text(
            "The \(first.label) thread has been in one turn for more than 10 seconds; restart Tidegate.",
            status: .serviceUnavailable)
    }

    func ready() -> Response {
        self.dependencies.view.isReady
            ? .text("Tidegate is ready.")
            : .text("Tidegate has no first verdict yet.", status: .serviceUnavailable)
    }

    func page(to request: Request) async -> Response {
        let view = self.dependencies.view
        // A HEAD request does not show the page to a user.
        if request.method == .get { view.pageViewed() }
        let choice = PageChoice(target: request.head.path ?? "")
        let html = await self.pages.body(choice) {
            let nextRuns = await self.dependencies.nextRuns()
            let scheduledProbes = await self.dependencies.scheduledProbes()
            let connections = await view.connectionObservation?.report()
            let incidents = await IncidentRoutes(dependencies: self.dependencies).recent()
            let page = PageView(
                status: view.status, diagnosis: view.diagnosis,
                tasks: view.taskSample(atMost: StatusRoutes.sampleLimit),
                record: self.dependencies.page.snapshot(), nextRuns: nextRuns, choice: choice,
                now: self.dependencies.time.wall(), configuration: self.dependencies.configuration,
                probes: self.dependencies.probes.flatMap { $0.hasModules ? $0.history : nil },
                scheduledProbes: scheduledProbes, connections: connections, incidents: incidents)
            return Array(page.html.utf8)
        }
        var response = Response.content(ByteBuffer(bytes: html), type: "text/html; charset=utf-8")
        response.headers[.contentSecurityPolicy] = PageView.contentSecurityPolicy
        return response
    }

    func status() -> Response {
        let view = self.dependencies.view
        let connections = view.connectionObservation?.statistics ?? ConnectionStatistics()
        let status = view.status
        let quality = status.quality?.json(names: self.dependencies.configuration.targetNames)
        return .json(
            status.json.adding(.init("diagnosis", view.diagnosis?.json ?? .null))
                .adding(.init("quality", quality ?? .null))
                .adding(.init("observation", connections.observation)))
    }

    func targets() -> Response {
        .json(TargetsDocument.json(self.dependencies.view.status, names: self.dependencies.configuration.targetNames))
    }

    func probes() async -> Response {
        let reports = await self.dependencies.scheduledProbes()
        return .json(ProbesDocument.json(reports, redaction: self.dependencies.configuration.redaction))
    }

    func connections() async -> Response {
        let report = await self.dependencies.view.connectionObservation?.report() ?? ConnectionsReport()
        return .json(ConnectionsDocument(report).json)
    }

    func tasks(to request: Request) async -> Response {
        guard let page = TaskPage(target: request.head.path ?? "") else { return TaskPage.problem }
        let body = await self.lists.body(page) {
            let tasks = self.dependencies.view.tasks(after: page.after, atMost: page.limit)
            return Array("\(TaskPage.document(of: tasks, json: \.json))\n".utf8)
        }
        return .json(body: body)
    }

    func task(_ text: String) -> Response {
        guard let id = TaskID(text), let task = self.dependencies.view.task(id) else {
            return .problem(.notFound, "no task has this ID", format: .json)
        }
        return .json(TaskDocument(task).response)
    }

    // MARK: The exposition

    /// Requests that are equal in these values share an exposition.
    private struct Scrape: Hashable {
        let format: ExpositionFormat
        let names: [String]
        let isCompressed: Bool
    }

    /// The exposition, in the format and encoding that the client accepts.
    func metrics(to request: Request, context: ServerContext) async -> Response {
        // A first scrape with an unknown level would look like a failure at every start.
        await self.dependencies.view.waitForFirstStatus(within: StatusRoutes.firstStatusLimit)
        let key = Scrape(
            format: ContentNegotiation.format(accept: request.headers.list(.accept)),
            names: QueryParameters(target: request.head.path ?? "").values(of: "name[]"),
            isCompressed: Gzip.isAccepted(by: request.headers.list(.acceptEncoding)))
        let body = await self.scrapes.body(key) { self.exposition(key, inFlight: context.source.inFlight) }
        var headers: HTTPFields = [.contentType: key.format.contentType, .vary: "Accept, Accept-Encoding"]
        // No exposition begins with these bytes, so the body itself shows whether it is compressed.
        if body.starts(with: Gzip.magic) { headers[.contentEncoding] = "gzip" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    // Compressed here rather than in a middleware, so that concurrent scrapes share the compressed body.
    private func exposition(_ key: Scrape, inFlight: Int) -> [UInt8] {
        let body = self.dependencies.recorder.exposition(
            of: self.inputs(inFlight: inFlight), in: key.format, choice: FamilyChoice(names: key.names))
        return key.isCompressed ? Gzip.compress(body) ?? body : body
    }

    /// What a bug report needs, as texts by file name.
    func supportFiles(inFlight: Int) async -> [String: String] {
        let redaction = self.dependencies.configuration.redaction
        let exposition = self.exposition(Scrape(format: .text, names: [], isCompressed: false), inFlight: inFlight)
        let events = self.dependencies.history.newest(self.dependencies.history.capacity)
        let probes = ProbesDocument.json(await self.dependencies.scheduledProbes(), redaction: .toOrigin)
        return [
            "metrics.txt": String(decoding: exposition, as: UTF8.self), "probes.json": "\(probes)\n",
            "events.jsonl": events.map { "\($0.json(redaction: redaction))\n" }.joined(),
        ]
    }

    /// The samples that a scrape would return now.
    func samples(inFlight: Int) -> [MetricSample] {
        self.dependencies.recorder.samples(of: self.inputs(inFlight: inFlight))
    }

    private func inputs(inFlight: Int) -> ScrapeInputs {
        ScrapeInputs(
            of: self.dependencies.view, bus: self.dependencies.bus, time: self.dependencies.time,
            targetNames: self.dependencies.configuration.targetNames, streams: self.dependencies.history.statistics,
            incidents: self.dependencies.incidents?.totals,
            deployment: self.dependencies.configuration.deployment, requestsInFlight: inFlight)
    }
}

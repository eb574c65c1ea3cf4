internal import TidegateCore
internal import TidegateMetrics

/// Knows the answer to every request; opens no socket.
struct Answers: Sendable {
    let configuration: EndpointConfiguration
    let view: any MonitorView
    let bus: EventBus
    let recorder: MetricsRecorder
    let time: any TimeSource
    let history: EventHistory
    let timeline: TimelineSink
    let scrapes = ScrapeCoalescer()

    /// The answer to a request; `inFlight` counts it too.
    func answer(_ question: Question, inFlight: Int) async -> Answer {
        guard let route = Route(path: question.path, telemetryPath: self.configuration.telemetryPath) else {
            return Answer(.other, status: 404, line: "There is nothing at this path.")
        }
        guard question.method == "GET" || question.method == "HEAD" else {
            var answer = Answer(route.handler, status: 405, line: "Only GET and HEAD are answered here.")
            answer.fields = [("allow", "GET, HEAD")]
            return answer
        }
        guard inFlight <= self.configuration.maxRequests || route.isForProbes else {
            var answer = Answer(route.handler, status: 503, line: "Too many requests at a time.")
            answer.fields = [("retry-after", "1")]
            return answer
        }
        return await self.answer(route, question, inFlight: inFlight)
    }

    /// The part of the endpoint that a request is for.
    func handler(of question: Question) -> Answer.Handler {
        Route(path: question.path, telemetryPath: self.configuration.telemetryPath)?.handler ?? .other
    }

    private func answer(_ route: Route, _ question: Question, inFlight: Int) async -> Answer {
        switch route {
        case .metrics: await self.metrics(question, inFlight: inFlight)
        case .page: self.page()
        case .healthy: Answer(.healthy, line: "Tidegate is healthy.")
        case .ready:
            self.view.isReady
                ? Answer(.ready, line: "Tidegate is ready.")
                : Answer(.ready, status: 503, line: "Tidegate has no first verdict yet.")
        case .status: Answers.json(.status, self.view.status().json)
        case .tasks: Answers.json(.tasks, ["schema": 1, "tasks": .array(self.view.tasks().map(\.json))])
        case .task(let text): self.task(text)
        case .events: Answers.events(after: question.lastEventID)
        }
    }

    private static func events(after id: String?) -> Answer {
        var answer = Answer(.events, contentType: "text/event-stream", body: [])
        // nginx would collect events before it passes them on.
        answer.fields = [("x-accel-buffering", "no")]
        answer.events = EventQuery(lastID: id)
        return answer
    }

    private func metrics(_ question: Question, inFlight: Int) async -> Answer {
        let order = ScrapeCoalescer.Order(
            format: ContentNegotiation.format(accept: question.accept), names: question.values(of: "name[]"),
            isCompressed: Gzip.isAccepted(by: question.acceptEncoding))
        let body = await self.scrapes.exposition(order) { self.exposition(order, inFlight: inFlight) }
        // No exposition begins like this, so that the body itself says whether it was compressed.
        let isCompressed = body.starts(with: Gzip.mark)
        var answer = Answer(.metrics, contentType: order.format.contentType, body: body)
        answer.fields = [("vary", "Accept, Accept-Encoding")] + (isCompressed ? [("content-encoding", "gzip")] : [])
        return answer
    }

    private func exposition(_ order: ScrapeCoalescer.Order, inFlight: Int) -> [UInt8] {
        let inputs = self.inputs(inFlight: inFlight)
        let body = self.recorder.exposition(of: inputs, in: order.format, choice: FamilyChoice(names: order.names))
        return order.isCompressed ? Gzip.compress(body) ?? body : body
    }

    /// The samples that a scrape would find now.
    func samples(inFlight: Int) -> [MetricSample] { self.recorder.samples(of: self.inputs(inFlight: inFlight)) }

    private func inputs(inFlight: Int) -> ScrapeInputs {
        var statistics = self.bus.statistics()
        statistics[.sse]?.add(self.history.statistics)
        let subscribers = statistics.map { kind, statistics in
            ScrapeInputs.Subscriber(
                label: kind.label, queued: statistics.queued, capacity: statistics.capacity, dropped: statistics.dropped
            )
        }
        return ScrapeInputs(
            now: self.time.monotonic(), status: self.view.status(), targetNames: self.configuration.targetNames,
            session: self.view.sessionStatistics(), subscribers: subscribers.sorted { $0.label < $1.label },
            process: ProcessReader(time: self.time).sample(), requestsInFlight: inFlight)
    }

    private func page() -> Answer {
        let page = PageView(
            status: self.view.status(), tasks: self.view.tasks(), timeline: self.timeline.picture(at: self.time),
            events: self.history.newest(PageView.eventLimit, where: EventDescriptions.isWorthShowing),
            now: self.time.wall(),
            configuration: self.configuration)
        var answer = Answer(.page, contentType: "text/html; charset=utf-8", body: Array(page.html.utf8))
        answer.fields = [("content-security-policy", PageView.contentSecurityPolicy)]
        return answer
    }

    private func task(_ text: String) -> Answer {
        guard let id = TaskID(text), let task = self.view.task(id) else {
            return Answers.json(.task, status: 404, ["schema": 1, "error": "there is no task with this id"])
        }
        guard case .object(let members) = task.json else { return Answers.json(.task, task.json) }
        return Answers.json(.task, .object([JSONValue.Member("schema", 1)] + members))
    }

    private static func json(_ handler: Answer.Handler, status: Int = 200, _ value: JSONValue) -> Answer {
        let body = Array((value.description + "\n").utf8)
        return Answer(handler, status: status, contentType: "application/json; charset=utf-8", body: body)
    }
}

/// The paths that there are.
private enum Route {
    case metrics, page, healthy, ready, status, tasks, events
    case task(String)

    init?(path: String, telemetryPath: String) {
        let taskPrefix = "/api/v1/tasks/"
        switch path {
        case telemetryPath: self = .metrics
        case "/": self = .page
        case "/-/healthy": self = .healthy
        case "/-/ready": self = .ready
        case "/api/v1/status": self = .status
        case "/api/v1/tasks": self = .tasks
        case "/api/v1/events": self = .events
        default:
            guard path.hasPrefix(taskPrefix), path.utf8.count > taskPrefix.utf8.count else { return nil }
            self = .task(String(path.dropFirst(taskPrefix.count)))
        }
    }

    // Whoever asks whether the process lives must be answered under load, too.
    var isForProbes: Bool {
        switch self {
        case .healthy, .ready: true
        case .metrics, .page, .status, .tasks, .task, .events: false
        }
    }

    var handler: Answer.Handler {
        switch self {
        case .metrics: .metrics
        case .page: .page
        case .healthy: .healthy
        case .ready: .ready
        case .status: .status
        case .tasks: .tasks
        case .task: .task
        case .events: .events
        }
    }
}

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOPosix
internal import TidegateCore

/// The routes of the control socket; opens no socket.
struct ControlRoutes: Sendable {
    let control: any TaskControl
    let bus: EventBus
    /// The configured targets, and the latest diagnosis of the host.
    var report: @Sendable () -> JSONValue = { ControlServer.emptyReport }
    /// Returns what is known of other programs' connections.
    var connections: @Sendable () async -> ConnectionsReport = { ConnectionsReport() }
    var incidents: IncidentRoutes?

    /// Returns what a bug report needs, as texts by file name.
    var supportFiles: @Sendable () async -> [String: String] = { [:] }

    /// The largest body that is read; a task's own body may have 16 MiB.
    static let bodyLimit = 24 << 20

    /// A responder that sends every request through `middlewares` first, the first one outermost.
    func responder(
        middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = []
    ) -> RouterResponder<ServerContext> {
        let table = RouteTable(format: .json, middlewares: middlewares + [RefusalMiddleware()])
        let routes = self
        table.add(
            "/api/v1/tasks",
            [
                (.get, { request, _ in try await routes.list(request) }),
                (.post, { try await routes.submit($0, $1) }),
            ])
        table.add("/api/v1/tasks/{id}", [(.get, { .json(try await routes.control.task(Self.id($1)).response) })])
        table.add("/api/v1/tasks/{id}/body", [(.get, { try await routes.body($1) })])
        for format in ExportFormat.allCases {
            table.add(
                "/api/v1/tasks/{id}/\(format.rawValue)", [(.get, { try await routes.export(format, $0, $1) })])
        }
        for command in ControlCommand.allCases {
            table.add(
                "/api/v1/tasks/{id}/\(command.rawValue)",
                [(.post, { .json(try await routes.control.command(command, Self.id($1)).response) })])
        }
        table.add("/api/v1/targets", [(.get, { _, _ in .json(routes.report()) })])
        table.add(
            "/api/v1/connections",
            [(.get, { _, _ in .json(ConnectionsDocument(await routes.connections()).json) })])
        table.add(
            "/api/v1/support",
            [(.get, { _, _ in .json(.object(await routes.supportFiles().map { .init($0, .string($1)) })) })])
        table.add("/api/v1/events", [(.get, { try await routes.watch($1) })])
        self.incidents?.addControl(to: table)
        return table.responder()
    }

    // MARK: - Tasks

    private func list(_ request: Request) async throws(ControlRefusal) -> Response {
        guard let page = TaskPage(target: request.head.path ?? "") else { return TaskPage.problem }
        let tasks = try await self.control.tasks(after: page.after, atMost: page.limit)
        return .json(TaskPage.document(of: tasks, json: \.json))
    }

    private func submit(_ request: Request, _ context: ServerContext) async throws(ControlRefusal) -> Response {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: Self.bodyLimit)
        } catch is NIOTooManyBytesError {
            let message = "the request body is larger than \(Self.bodyLimit) bytes: submit the body as a file"
            return .problem(.contentTooLarge, message, format: .json)
        } catch {
            throw ControlRefusal(.malformed, "the request body cannot be read")
        }
        let submission = try SubmissionDocument.read(Array(body.readableBytesView))
        let result = try await self.control.submit(submission, by: context.caller)
        var response = Response.json(SubmitDocument(result).json, status: result.isNew ? .created : .ok)
        if result.isNew { response.headers[.location] = "/api/v1/tasks/\(result.id)" }
        return response
    }

    private func body(_ context: ServerContext) async throws(ControlRefusal) -> Response {
        let body =
            switch try await self.control.body(try Self.id(context), for: context.caller) {
            case .kept(let bytes): ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
            case .file(let read): ControlRoutes.body(of: read)
            }
        return Response(status: .ok, headers: [.contentType: "application/octet-stream"], body: body)
    }

    // Sent in chunks: only the end of a chunked body shows the client that nothing is missing.
    private static func body(of read: @escaping @Sendable () throws -> [UInt8]) -> ResponseBody {
        ResponseBody { writer in
            while true {
                let bytes = try await NIOThreadPool.singleton.runIfActive(read)
                guard !bytes.isEmpty else { break }
                try await writer.write(ByteBuffer(bytes: bytes))
            }
            try await writer.finish(nil)
        }
    }

    private func export(
        _ format: ExportFormat, _ request: Request, _ context: ServerContext
    ) async throws(ControlRefusal) -> Response {
        let text = try await self.control.export(
            try Self.id(context), as: format, showingSecrets: request.uri.queryParameters["secrets"] == "true")
        let type = format == .har ? "application/json" : "text/plain; charset=utf-8"
        return .content(ByteBuffer(string: text + "\n"), type: type)
    }

    private static func id(_ context: ServerContext) throws(ControlRefusal) -> TaskID {
        let text = context.parameters.get("id") ?? ""
        guard let id = TaskID(text) else { throw ControlRefusal(.unknown, "there is no task \"\(text)\"") }
        return id
    }

    // MARK: - Watching

    /// The first page of the current tasks, then every event of a task, each as a line of JSON.
    private func watch(_ context: ServerContext) async throws(ControlRefusal) -> Response {
        // Subscribed before the tasks are listed: a change in between is reported twice, but never missed.
        let events = self.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            switch event.payload {
            case .task, .daemon(.stopping): true
            default: false
            }
        }
        context.channel.closeFuture.whenComplete { _ in events.cancel() }
        let tasks: TaskSlice<TaskDocument>
        do throws(ControlRefusal) {
            tasks = try await self.control.tasks(after: nil, atMost: TaskPage.maxCount)
        } catch {
            events.cancel()
            throw error
        }
        let body = ResponseBody { writer in
            defer { events.cancel() }
            try await writer.write(
                line: [
                    "schema": 1, "event": "snapshot", "tasks": .array(tasks.tasks.map(\.json)),
                    "next": .optional(tasks.next?.description), "total": .integer(Int64(tasks.total)),
                ])
            try await Self.write(events, to: &writer)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson"], body: body)
    }

    // Runs until the daemon stops.
    private static func write(_ events: Subscription, to writer: inout any ResponseBodyWriter) async throws {
        var dropped: UInt64 = 0
        for await event in events {
            guard case .task = event.payload else { break }
            if events.dropped > dropped {
                let count = Int64(events.dropped - dropped)
                dropped = events.dropped
                try await writer.write(line: ["schema": 1, "event": "dropped", "count": .integer(count)])
            }
            try await writer.write(line: event.json())
        }
    }
}

/// Answers refusals; each has a status and a sentence.
private struct RefusalMiddleware: RouterMiddleware {
    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as ControlRefusal {
            return .problem(
                HTTPResponse.Status(code: error.reason.status), error.description, format: .json,
                headers: error.reason == .tooManyTasks ? [.retryAfter: "10"] : [:])
        }
    }
}

extension ResponseBodyWriter {
    fileprivate mutating func write(line: JSONValue) async throws {
        try await self.write(ByteBuffer(string: "\(line)\n"))
    }
}

/// Parses the JSON object of a submission; an unknown member is an error rather than ignored.
enum SubmissionDocument {
    static func read(_ bytes: [UInt8]) throws(ControlRefusal) -> TaskSubmission {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        guard let names = try? decoder.decode([String: UnreadMember].self, from: data).keys.sorted() else {
            throw ControlRefusal(.malformed, "request body must be a JSON object")
        }
        if let unknown = names.first(where: { !TaskSubmission.members.contains($0) }) {
            throw ControlRefusal(.malformed, "unknown member \"\(unknown)\"")
        }
        return try Result { try decoder.decode(TaskSubmission.self, from: data) }
            .mapError { ControlRefusal(.malformed, self.message($0)) }.get()
    }

    private static func message(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _): "missing member \"\(key.stringValue)\""
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(self.subject(context)) has the wrong type"
        // For example, a number that is out of range.
        case .dataCorrupted(let context): "\(self.subject(context)) has an invalid value"
        case nil: "request body cannot be parsed"
        @unknown default: "request body cannot be parsed"
        }
    }

    private static func subject(_ context: DecodingError.Context) -> String {
        // The decoder does not always name the member.
        guard !context.codingPath.isEmpty else { return "a member" }
        return "member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\""
    }
}

/// A member whose value is not read.
private struct UnreadMember: Decodable {
    init(from decoder: any Decoder) {}
}

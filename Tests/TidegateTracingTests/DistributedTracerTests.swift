import HTTPTypes
import InMemoryTracing
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateTestKit
import TidegateTracing
import Tracing

/// Spans of tasks and their attempts, and what servers see of them.
@Suite(.timeLimit(.minutes(5)))
struct DistributedTracerTests {
    private static let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private let tracer = W3CTracer()
    private let recorder = RecordingSink()
    private let paths = ScriptedPathSource()

    private func session(
        retry: RetryPolicy = RetryPolicy(), startsTraces: Bool = false, tracer: (any Tracer)? = nil
    ) throws -> Session {
        var configuration = SessionConfiguration()
        (configuration.retry, configuration.startsTraces) = (retry, startsTraces)
        let bus = EventBus(time: SystemClock())
        bus.attach(self.recorder)
        return try Session(
            configuration, bus: bus, paths: self.paths, resolver: ScriptedResolver(), time: SystemClock(),
            generator: SystemRandomNumberGenerator(), tracer: DistributedTracer(tracer ?? self.tracer))
    }

    private var finished: [FinishedInMemorySpan] { self.tracer.memory.finishedSpans }

    /// The spans below one, in the order in which they began.
    private func children(of id: String) -> [FinishedInMemorySpan] {
        self.finished.filter { $0.parentSpanID == id }
            .sorted { $0.startInstant.nanosecondsSinceEpoch < $1.startInstant.nanosecondsSinceEpoch }
    }

    private func span(of task: TransferTask) throws -> FinishedInMemorySpan {
        try #require(
            self.finished.first { $0.attributes.get("tidegate.task.id") == .string(task.id.description) })
    }

    private func run(_ request: TaskRequest, in session: Session) async throws -> (TaskResult, FinishedInMemorySpan) {
        let task = session.makeTask(request)
        task.resume()
        let result = await task.result()
        return (result, try self.span(of: task))
    }

    private static func text(_ span: FinishedInMemorySpan, _ name: String) -> String? {
        if case .string(let text)? = span.attributes.get(name) { text } else { nil }
    }

    private static func number(_ span: FinishedInMemorySpan, _ name: String) -> Int64? {
        if case .int64(let number)? = span.attributes.get(name) { number } else { nil }
    }

    @Test("A task is a span below its caller's, its attempts are spans below it, and the server sees theirs")
    func structure() async throws {
        let server = try LiveServer { $0.number == 1 ? .respond(503) : .respond(text: "ok") }
        defer { server.stop() }
        let session = try self.session(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        var request = try TaskRequest(url: server.url("/p?key=hidden"))
        request.options.name = "orders"
        let caller = self.tracer.startSpan("caller", context: .topLevel)
        let (result, span) = try await ServiceContext.$current.withValue(caller.context) {
            try await self.run(request, in: session)
        }
        #expect(result.outcome == .success)
        #expect(span.parentSpanID == caller.spanID && span.traceID == caller.traceID)
        #expect(span.kind == .client && span.operationName == "GET" && span.status == nil)
        #expect(Self.text(span, "url.full") == server.url("/p") && Self.text(span, "tidegate.task.name") == "orders")
        #expect(Self.text(span, "http.request.method") == "GET" && Self.text(span, "server.address") == "127.0.0.1")
        #expect(Self.number(span, "server.port") == Int64(server.port))
        #expect(Self.number(span, "http.response.status_code") == 200)
        #expect(Self.number(span, "http.request.resend_count") == 1)
        let attempts = self.children(of: span.spanID)
        #expect(attempts.map { Self.number($0, "http.response.status_code") } == [503, 200])
        #expect(attempts.map { Self.number($0, "http.request.resend_count") } == [nil, 1])
        #expect(attempts.map { Self.text($0, "error.type") } == ["503", nil])
        #expect(attempts.map(\.status?.code) == [.error, nil])
        #expect(attempts.allSatisfy { Self.text($0, "network.peer.address") == "127.0.0.1" })
        #expect(
            server.requests.map { $0.field("traceparent") }
                == attempts.map { "00-\(caller.traceID)-\($0.spanID)-01" })
        #expect(self.tracer.memory.activeSpans.map(\.operationName) == ["caller"])
        await session.invalidate(cancellingTasks: true)
    }

    @Test("Events have the ids of the tracer, and holds are events of the task's span")
    func events() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        self.paths.say(ScriptedPathSource.lost(.noCarrier))
        let session = try self.session()
        let task = session.makeTask(try TaskRequest(url: server.url()))
        task.resume()
        #expect(await eventually { task.state.name == .waiting })
        self.paths.say(ScriptedPathSource.routed())
        #expect(await task.result().outcome == .success)
        let span = try self.span(of: task)
        let holds = span.events.filter { $0.attributes.get("tidegate.hold.reason") == .string("path") }
        #expect(holds.map(\.name) == ["held", "released"])
        #expect(holds.first?.attributes.get("tidegate.hold.detail") != nil)
        let attempt = try #require(self.children(of: span.spanID).first)
        let events = self.recorder.events.compactMap { event -> TaskEvent? in
            if case .task(let event) = event.payload { event } else { nil }
        }
        #expect(Set(events.map(\.trace)) == [TraceID(span.traceID)])
        let summaries = events.compactMap { event -> AttemptSummary? in
            if case .attemptSucceeded(let summary) = event.kind { summary } else { nil }
        }
        #expect(summaries.map(\.span) == [SpanID(attempt.spanID)])
        await session.invalidate(cancellingTasks: true)
    }

    @Test("A failure is an error with the sentence that users see", arguments: [true, false])
    func failures(isAnswered: Bool) async throws {
        let server = try LiveServer { _ in .respond(404) }
        if !isAnswered { server.stop() }
        defer { server.stop() }
        let session = try self.session(retry: RetryPolicy(attempts: 1))
        let (result, span) = try await self.run(try TaskRequest(url: server.url(), method: "BREW"), in: session)
        #expect(result.outcome == .failure)
        #expect(span.status == SpanStatus(code: .error, message: result.explanation))
        #expect(Self.text(span, "error.type") == (isAnswered ? "404" : "connect_failed"))
        #expect(Self.number(span, "http.response.status_code") == (isAnswered ? 404 : nil))
        // Names of an app's own would be without number.
        #expect(span.operationName == "HTTP" && Self.text(span, "http.request.method") == "_OTHER")
        #expect(Self.text(span, "http.request.method_original") == "BREW")
        let attempts = self.children(of: span.spanID)
        #expect(attempts.map(\.status?.code) == [.error])
        #expect(attempts.map { Self.text($0, "error.type") } == [isAnswered ? "404" : "connect_failed"])
        await session.invalidate(cancellingTasks: true)
    }

    @Test("Cancelling ends the spans at once, and is no error")
    func cancelled() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let session = try self.session()
        let task = session.makeTask(try TaskRequest(url: server.url()))
        task.resume()
        #expect(await eventually { server.requests.count == 1 })
        task.cancel()
        #expect(await task.result().outcome == .cancelled)
        #expect(self.tracer.memory.activeSpans.isEmpty)
        let span = try self.span(of: task)
        #expect(span.status == nil && Self.text(span, "tidegate.outcome") == "cancelled")
        #expect(self.children(of: span.spanID).map { Self.text($0, "error.type") } == ["cancelled"])
        await session.invalidate(cancellingTasks: true)
    }

    @Test("No span is left when the session has ended, whatever its tasks were doing")
    func endOfSession() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let session = try self.session()
        let running = session.makeTask(try TaskRequest(url: server.url()))
        running.resume()
        #expect(await eventually { server.requests.count == 1 })
        // The other target's path alone: without its own the running one would end, too.
        self.paths.say(
            TargetVerdict(target: try Target("127.0.0.2:1"), verdict: ScriptedPathSource.lost(.noCarrier)))
        let waiting = session.makeTask(try TaskRequest(url: "http://127.0.0.2:1/"))
        waiting.resume()
        #expect(await eventually { waiting.state.name == .waiting })
        let suspended = session.makeTask(try TaskRequest(url: server.url()))
        #expect(self.tracer.memory.activeSpans.count == 4)
        await session.invalidate(cancellingTasks: true)
        #expect(self.tracer.memory.activeSpans.isEmpty)
        // A task that is made too late is over, and has no span.
        _ = session.makeTask(try TaskRequest(url: server.url()))
        #expect(self.tracer.memory.activeSpans.isEmpty && self.finished.count == 4)
        #expect([running, waiting, suspended].allSatisfy { $0.state == .completed(.cancelled) })
    }

    @Test("What follows a redirect is a span with its own URL; another origin is not shown the trace")
    func redirect() async throws {
        let other = try LiveServer { _ in .respond(text: "there") }
        defer { other.stop() }
        let there = other.url("/b?token=hidden")
        let server = try LiveServer { _ in .respond(302, ["Location: \(there)"]) }
        defer { server.stop() }
        let session = try self.session()
        let url = server.url("/a").replacing("http://", with: "http://me:hidden@")
        let (result, span) = try await self.run(try TaskRequest(url: url), in: session)
        #expect(result.outcome == .success)
        let attempts = self.children(of: span.spanID)
        try #require(attempts.count == 2)
        #expect(attempts.map { Self.text($0, "url.full") } == [server.url("/a"), other.url("/b")])
        #expect(attempts.map { Self.number($0, "server.port") } == [Int64(server.port), Int64(other.port)])
        #expect(server.requests.first?.field("traceparent")?.contains(attempts[0].spanID) == true)
        #expect(other.requests.first?.field("traceparent") == nil)
        #expect(!"\(self.finished)".contains("hidden"))
        await session.invalidate(cancellingTasks: true)
    }

    @Test("A trace that the request names goes before the caller's; a field of its own is sent unchanged")
    func ownTrace() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let session = try self.session(startsTraces: true)
        var passed = try TaskRequest(url: server.url())
        passed.options.trace = TraceContext(traceParent: Self.given)
        let own = try TaskRequest(url: server.url(), headers: [try HTTPField("traceparent", Self.given)])
        let caller = self.tracer.startSpan("caller", context: .topLevel)
        for request in [passed, own] {
            let (_, span) = try await ServiceContext.$current.withValue(caller.context) {
                try await self.run(request, in: session)
            }
            #expect(span.traceID == "0af7651916cd43dd8448eb211c80319c" && span.parentSpanID == "b7ad6b7169203331")
        }
        try #require(server.requests.count == 2)
        #expect(server.requests[0].field("traceparent")?.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") == true)
        #expect(server.requests[0].field("traceparent") != Self.given)
        #expect(
            server.requests[1].fields.filter { $0.name.canonicalName == "traceparent" }.map(\.value) == [Self.given])
        let (_, root) = try await self.run(try TaskRequest(url: server.url()), in: session)
        #expect(root.parentSpanID == nil, "startsTraces begins no second trace")
        await session.invalidate(cancellingTasks: true)
    }

    @Test("What a tracer injects is sent, whatever its fields are; the request's own fields stay")
    func otherFields() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let memory = InMemoryTracer()
        let session = try self.session(tracer: memory)
        let field = try HTTPField(InMemoryTracer.traceIDKey, "mine")
        let task = session.makeTask(try TaskRequest(url: server.url(), headers: [field]))
        task.resume()
        #expect(await task.result().outcome == .success)
        let request = try #require(server.requests.first)
        #expect(request.field(InMemoryTracer.spanIDKey) == "span-2" && request.field("traceparent") == nil)
        #expect(request.fields.filter { $0.name.rawName == InMemoryTracer.traceIDKey }.map(\.value) == ["mine"])
        #expect(memory.activeSpans.isEmpty && memory.finishedSpans.count == 2)
        await session.invalidate(cancellingTasks: true)
    }
}

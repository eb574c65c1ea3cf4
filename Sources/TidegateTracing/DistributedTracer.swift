internal import HTTPTypes
internal import Synchronization
public import TidegateCore
public import Tracing

/// Makes spans of swift-distributed-tracing: a client span for each task, with a child span for each attempt.
///
/// ```swift
/// configuration.tracer = DistributedTracer(InstrumentationSystem.tracer)
/// ```
/// A task's span is a child of `ServiceContext.current` where the task is made, and has the events `held` and
/// `released` for each hold. Attributes and names follow OpenTelemetry's conventions for HTTP clients; Tidegate's own
/// attributes begin with `tidegate.`. A request contains the fields that the tracer injects for its attempt's span.
public struct DistributedTracer: TaskTracer {
    private let tracer: any Tracer

    /// Uses the spans of `tracer`; `InstrumentationSystem.tracer` is the one that the app has configured.
    public init(_ tracer: any Tracer) { self.tracer = tracer }

    /// The trace of `ServiceContext.current`, if the tracer writes `traceparent`.
    public var callersTrace: TraceContext? {
        guard let context = ServiceContext.current else { return nil }
        var fields: [String: String] = [:]
        self.tracer.inject(context, into: &fields, using: FieldInjector())
        return fields["traceparent"].flatMap { TraceContext(traceParent: $0, state: fields["tracestate"]) }
    }

    /// Starts the span of a task.
    public func startSpan(of request: TracedRequest, parent: TraceContext?) -> any TaskSpan {
        var context = ServiceContext.current ?? .topLevel
        if let parent {
            var fields = ["traceparent": parent.traceParent]
            fields["tracestate"] = parent.state
            self.tracer.extract(fields, into: &context, using: FieldExtractor())
        }
        return DistributedSpan(self.tracer, context, request)
    }
}

/// Writes header fields with lower-case names.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key.lowercased()] = value
    }
}

private struct FieldExtractor: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
}

/// The spans of one task: its own, and one for each running attempt.
private final class DistributedSpan: TaskSpan {
    private struct State {
        var attempts: [Int: any Span] = [:]
        var isOver = false
    }

    private let tracer: any Tracer
    private let request: TracedRequest
    private let task: any Span
    private let state = Mutex(State())

    init(_ tracer: any Tracer, _ context: ServiceContext, _ request: TracedRequest) {
        self.tracer = tracer
        self.request = request
        self.task = tracer.startSpan(request.spanName, context: context, ofKind: .client)
        self.task.updateAttributes { attributes in
            request.describe(in: &attributes)
            attributes["tidegate.task.id"] = request.task.description
            attributes["tidegate.task.name"] = request.name
        }
    }

    // A session may be released before the task has ended.
    deinit { self.end { _ in } }

    var fields: [HTTPField] { self.fields(of: self.task) }

    func fields(ofAttempt number: Int, _ request: TracedRequest) -> [HTTPField] {
        guard let span = self.startAttempt(number) else { return [] }
        // A redirected request has a URL other than the task's.
        span.operationName = request.spanName
        span.updateAttributes { request.describe(in: &$0) }
        return self.fields(of: span)
    }

    private func fields(of span: any Span) -> [HTTPField] {
        var fields: [String: String] = [:]
        self.tracer.inject(span.context, into: &fields, using: FieldInjector())
        return fields.sorted { $0.key < $1.key }.compactMap { name, value in
            HTTPField.Name(name).map { HTTPField(name: $0, value: value) }
        }
    }

    func record(_ event: TaskEvent.Kind) {
        switch event {
        case .held(let reason, let detail):
            var attributes: SpanAttributes = ["tidegate.hold.reason": .string(reason.rawValue)]
            attributes["tidegate.hold.detail"] = detail
            self.task.addEvent(SpanEvent(name: "held", attributes: attributes))
        case .released(let reason, let after):
            self.task.addEvent(
                SpanEvent(
                    name: "released",
                    attributes: [
                        "tidegate.hold.reason": .string(reason.rawValue),
                        "tidegate.hold.seconds": .double(after / .seconds(1)),
                    ]))
        case .attemptStarted(let number): _ = self.startAttempt(number)
        case .attemptSucceeded(let summary): self.endAttempt(summary, nil, nil)
        case .attemptFailed(let summary, let failure, let attribution, isCharged: _):
            self.endAttempt(summary, failure, attribution)
        case .completed(let result): self.end { $0.describe(result) }
        case .suspended(.shutdown): self.end { _ in }
        default: break
        }
    }

    // The attempt's span, created on the first call; nil after the task has ended.
    private func startAttempt(_ number: Int) -> (any Span)? {
        let known = self.state.withLock { state in (span: state.attempts[number], isOver: state.isOver) }
        if known.isOver || known.span != nil { return known.span }
        let span = self.tracer.startSpan(self.request.spanName, context: self.task.context, ofKind: .client)
        span.updateAttributes { attributes in
            self.request.describe(in: &attributes)
            if number > 1 { attributes["http.request.resend_count"] = number - 1 }
        }
        let isLate = self.state.withLock { state in
            if !state.isOver { state.attempts[number] = span }
            return state.isOver
        }
        guard isLate else { return span }
        span.end()
        return nil
    }

    private func endAttempt(_ summary: AttemptSummary, _ failure: TaskFailure?, _ attribution: Attribution?) {
        guard let span = self.state.withLock({ $0.attempts.removeValue(forKey: summary.number) }) else { return }
        span.updateAttributes { attributes in
            attributes["http.response.status_code"] = summary.status
            attributes["network.peer.address"] = summary.remote?.description
            attributes["tidegate.party"] = attribution?.party.rawValue
        }
        if let failure {
            span.setFailure(failure, status: summary.status, attribution?.evidence.first ?? failure.description)
        }
        span.end()
    }

    // Only the first call counts.
    private func end(_ describe: (any Span) -> Void) {
        let open = self.state.withLock { state -> [any Span]? in
            guard !state.isOver else { return nil }
            state.isOver = true
            return exchange(&state.attempts, with: [:]).sorted { $0.key < $1.key }.map(\.value)
        }
        guard let open else { return }
        for span in open { span.end() }
        describe(self.task)
        self.task.end()
    }
}

extension Span {
    /// Records the result of a task.
    fileprivate func describe(_ result: TaskResult) {
        self.updateAttributes { attributes in
            attributes["http.response.status_code"] = result.status
            attributes["tidegate.outcome"] = result.outcome.rawValue
            attributes["tidegate.party"] = result.attribution?.party.rawValue
            if result.attempts > 1 { attributes["http.request.resend_count"] = result.attempts - 1 }
        }
        guard let failure = result.failure else { return }
        self.setFailure(failure, status: result.status, result.explanation ?? failure.description)
    }

    // A task that its caller cancelled is not an error.
    fileprivate func setFailure(_ failure: TaskFailure, status: Int?, _ sentence: String) {
        self.attributes["error.type"] =
            failure == .httpStatus ? status.map(String.init) ?? failure.label : failure.label
        if failure != .cancelled { self.setStatus(SpanStatus(code: .error, message: sentence)) }
    }
}

extension TracedRequest {
    // The methods of RFC 9110 and RFC 5789.
    private static let methods: Set = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]

    private var isMethodKnown: Bool { Self.methods.contains(self.method) }

    /// The method, or `HTTP` for the app's own methods, which are unlimited in number.
    fileprivate var spanName: String { self.isMethodKnown ? self.method : "HTTP" }

    fileprivate func describe(in attributes: inout SpanAttributes) {
        attributes["http.request.method"] = self.isMethodKnown ? self.method : "_OTHER"
        if !self.isMethodKnown { attributes["http.request.method_original"] = self.method }
        attributes["url.full"] = self.url
        attributes["server.address"] = self.host
        attributes["server.port"] = self.port.map(Int.init)
    }
}

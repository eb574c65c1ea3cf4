public import TidegateCore
public import Tracing

/// Makes spans of swift-distributed-tracing: one of kind client for each task, and below it one for each attempt.
///
/// ```swift
/// configuration.tracer = DistributedTracer(InstrumentationSystem.tracer)
/// ```
/// The span of a task is a child of the caller's, by `ServiceContext.current` where the task is made, and has an event
/// `held` and `released` for each hold. Attributes and names are those of OpenTelemetry's conventions for HTTP clients;
/// what is Tidegate's own begins with `tidegate.`. A request sends what the tracer injects for its attempt's span.
public struct DistributedTracer: TaskTracer {
    private let tracer: any Tracer

    /// Spans that `tracer` makes; `InstrumentationSystem.tracer` is the one that the app has set up.
    public init(_ tracer: any Tracer) { self.tracer = tracer }

    /// The trace of `ServiceContext.current`, as far as the tracer writes `traceparent`.
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

/// Writes header fields; their names are small letters.
struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key.lowercased()] = value
    }
}

private struct FieldExtractor: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
}

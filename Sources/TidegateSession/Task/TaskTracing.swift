internal import HTTPTypes
internal import TidegateCore

extension TaskTracer {
    /// Starts the span of a task that is being made, and makes the request a part of it.
    func trace(
        _ request: inout TaskRequest, of id: TaskID, url: String, _ handlers: TaskHandlers?
    ) -> TaskHandlers {
        let span = self.startSpan(
            of: TracedRequest(
                task: id, name: request.options.name, method: request.method, url: url, target: request.address.target),
            parent: request.trace)
        // A field of the user's own stays what servers see.
        if request.ownTraceParent == nil, let trace = TraceContext(span.fields) { request.options.trace = trace }
        return TaskHandlers(handlers, span: span)
    }
}

extension TraceContext {
    /// What `traceparent` and `tracestate` among the fields say; nil without the first.
    init?(_ fields: [HTTPField]) {
        guard let parent = fields.first(where: { $0.name.canonicalName == "traceparent" })?.value else { return nil }
        self.init(traceParent: parent, state: fields.first { $0.name.canonicalName == "tracestate" }?.value)
    }
}

/// What the endpoint says to one request.
struct Answer: Sendable {
    /// The parts of the endpoint, as the `handler` label names them.
    enum Handler: String, Sendable {
        case metrics, page, status, tasks, task, events, healthy, ready, other
    }

    let handler: Handler
    var status = 200
    var contentType = "text/plain; charset=utf-8"
    /// Names in lower case.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8]
    /// Set where events follow the head for as long as the client wants them.
    var events: EventQuery?

    init(_ handler: Handler, status: Int = 200, contentType: String = "text/plain; charset=utf-8", body: [UInt8]) {
        self.handler = handler
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    init(_ handler: Handler, status: Int = 200, line: String) {
        self.init(handler, status: status, body: Array((line + "\n").utf8))
    }

    /// What a client gets that asks for one event stream too many.
    static var tooManyStreams: Answer {
        var answer = Answer(.events, status: 503, line: "Too many event streams at a time.")
        answer.fields = [("retry-after", "5")]
        return answer
    }

    /// Headers that every answer carries: nothing is cached, framed, sniffed or told to others.
    static let guards: [(name: String, value: String)] = [
        ("cache-control", "no-store"), ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"), ("cross-origin-resource-policy", "same-origin"),
    ]
}

/// A wish for events.
struct EventQuery: Sendable, Hashable {
    /// The id of the last event that the client has seen; nil for one that begins.
    let lastID: String?
}

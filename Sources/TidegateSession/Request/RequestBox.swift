package import HTTPTypes
package import TidegateCore

/// A request and everything derived from it: written once and read by all its users.
///
/// A request is passed on many times, stored by every task, and rarely changed.
final class RequestBox: Sendable {
    let parts: Parts
    let kind: TaskKind
    let isIdempotent: Bool
    let firstHop: Hop
    let traceID: TraceID?
    /// The problem of one of the request's policies; nil if all are valid.
    let policyError: ConfigurationValueError?

    /// The parts of a request; ``TaskRequest`` documents each of them.
    struct Parts: Sendable {
        let method: String
        var url: String
        var address: HTTPURL
        var body: RequestBody
        var headers: [HTTPField]
        var destination = Destination.memory(limit: 16 << 20)
        var options = RequestOptions()

        var trace: TraceContext? {
            guard let own = self.ownTraceParent else { return self.options.trace }
            return TraceContext(traceParent: own, state: self.options.trace?.state)
        }

        var ownTraceParent: String? { self.headers.first { $0.name.canonicalName == "traceparent" }?.value }
    }

    init(_ parts: Parts) {
        self.parts = parts
        self.kind = RequestBox.kind(of: parts)
        self.isIdempotent = RequestBox.isIdempotent(parts)
        self.firstHop = Hop(method: parts.method, url: parts.address)
        self.traceID = parts.trace?.trace
        self.policyError = RequestBox.policyError(of: parts)
    }

    private static func policyError(of parts: Parts) -> ConfigurationValueError? {
        Result { () throws(ConfigurationValueError) in
            try parts.options.gate?.validate()
            try parts.options.retry?.validate()
            try parts.options.tls?.validate()
            try parts.options.proxy?.validate()
        }.failure
    }

    private static func kind(of parts: Parts) -> TaskKind {
        if parts.body != .none { return .upload }
        return switch parts.destination {
        case .file, .descriptor, .stream: .download
        case .memory, .discard: .data
        }
    }

    private static func isIdempotent(_ parts: Parts) -> Bool {
        switch parts.method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default:
            parts.options.isMarkedIdempotent || parts.headers.contains { $0.name.canonicalName == "idempotency-key" }
        }
    }
}

/// One request on the wire; every attempt reads it, so it is passed by reference.
package final class Hop: Sendable {
    package let method: String
    package let url: HTTPURL
    package let keepsBody: Bool
    /// False once another origin was contacted, which gets neither credentials nor private fields of the first one.
    package let keepsCredentials: Bool
    /// True once a server with a public address has redirected: the redirect must not lead to this host's own
    /// addresses.
    package let isFromPublicServer: Bool
    /// The fields that a hook set instead of the request's; nil uses the request's.
    package let headers: [HTTPField]?

    /// Creates a hop.
    package init(
        method: String, url: HTTPURL, keepsBody: Bool = true, keepsCredentials: Bool = true,
        isFromPublicServer: Bool = false, headers: [HTTPField]? = nil
    ) {
        self.method = method
        self.url = url
        self.keepsBody = keepsBody
        self.keepsCredentials = keepsCredentials
        self.isFromPublicServer = isFromPublicServer
        self.headers = headers
    }
}

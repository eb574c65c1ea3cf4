package import HTTPTypes
package import TidegateCore

/// Everything about a request, and what follows from it: written once and read by all who have the request.
///
/// A request is handed on many times and kept by every task, and hardly ever changed.
final class RequestBox: Sendable {
    let parts: Parts
    let kind: TaskKind
    let isIdempotent: Bool
    let firstHop: Hop
    let traceID: TraceID?
    /// What is wrong with a policy of the request's own; nil if nothing is.
    let policyError: ConfigurationValueError?

    /// What a request is made of; ``TaskRequest`` says what each means.
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
        do throws(ConfigurationValueError) {
            try parts.options.gate?.validate()
            try parts.options.retry?.validate()
            try parts.options.tls?.validate()
            try parts.options.proxy?.validate()
            return nil
        } catch {
            return error
        }
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

/// What one request on the wire is made of; every attempt reads it, so that it is handed on as one reference.
package final class Hop: Sendable {
    package let method: String
    package let url: HTTPURL
    package let keepsBody: Bool
    /// False once another origin was asked: it gets neither credentials nor private fields of the first one's.
    package let keepsCredentials: Bool
    /// True once a server with a public address has redirected: it cannot lead to this host's own.
    package let isFromPublicServer: Bool
    /// The fields that a hook put in the place of the request's; nil takes the request's.
    package let headers: [HTTPField]?

    /// A hop from its parts.
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

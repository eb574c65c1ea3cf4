internal import TidegateCore

/// The options of a request.
///
/// Their names are the keys under which the journal keeps them, so that none can be renamed.
///
/// A new one is optional: the rows of earlier versions do not have it.
struct RequestOptions: Sendable, Hashable, Codable {
    var name: String?
    var connectTimeout = Duration.seconds(10)
    var idleTimeout = Duration.seconds(60)
    var attemptTimeout: Duration?
    var deadline: Duration?
    var gate: GatePolicy?
    var retry: RetryPolicy?
    var priority = 0
    var usesHTTP2 = false
    var acceptsCompression = false
    var user: String?
    var password: String?
    var bytesPerSecondLimit: Int?
    var maxRedirects = 10
    var isMarkedIdempotent = false
    /// In microseconds since 1970.
    var expires: Int64?
    var sha256: String?
    var resuming: ResumeData?
    var trust: ServerTrustPolicy?
    var proxy: ProxyPolicy?
    var createsDirectories: Bool?
    var redirects: RedirectPolicy?
    var maxBodyBytes: Int?
    var traceParent: String?
    var traceState: String?
    var confinedTo: [String]?
}

package import HTTPTypes
package import TidegateMetrics
package import TidegateCore
package import TidegateSession

/// Where samples are sent, and how many are kept until then.
package struct RemoteWriteConfiguration: Sendable {
    package typealias Label = MetricSample.Label

    /// The receiver's URL.
    package var url: String
    /// The directory of the queue's file; a missing directory is created.
    package var directory: String
    /// The maximum size of the queue in bytes; the oldest samples are dropped first.
    package var bound: Int64 = 64 << 20
    /// How often samples are collected.
    package var interval: Duration = .seconds(15)
    /// Added to every series without a label of the same name: a scrape would add them, but remote write does not.
    package var labels: [Label] = []
    /// The `User-Agent` header.
    package var userAgent = "tidegate"
    /// The proxy.
    package var proxy = ProxyPolicy.direct
    /// Which certificates are trusted.
    package var tls = ServerTrustPolicy()
    /// Called before every request, so that rotated secrets are used; a failure is reported, and the call is repeated
    /// later.
    package var secrets: @Sendable () -> Result<Secrets, TaskError> = { .success(Secrets()) }
    /// How long to wait after a request has finally failed before its samples are sent again.
    package var pause: Duration = .seconds(30)
    /// How a request is retried: endlessly, so that newer samples do not overtake it.
    package var retry = RetryPolicy()

    /// The sender's credentials.
    package struct Secrets: Sendable, Hashable {
        /// Header fields in addition to those of the protocol.
        package var headers: [HTTPField] = []
        /// For HTTP's Basic scheme.
        package var credentials: Credentials?

        package init(headers: [HTTPField] = [], credentials: Credentials? = nil) {
            self.headers = headers
            self.credentials = credentials
        }
    }

    /// A configuration with the defaults; retries are at most 30 s apart.
    package init(url: String, directory: String) {
        self.url = url
        self.directory = directory
        self.retry = RemoteWriteConfiguration.retry(base: .milliseconds(500), cap: .seconds(30))
    }

    /// Endless retries, for the statuses that remote write 1.0 lets senders retry, and for redirects.
    ///
    /// Redirects come from captive portals.
    package static func retry(base: Duration, cap: Duration) -> RetryPolicy {
        RetryPolicy(
            attempts: 10_000, base: base, cap: cap, maxElapsed: nil,
            statuses: Set(300...399).union([429]).union(500...599))
    }

    /// A session that makes one request at a time, which waits for its path.
    ///
    /// There is no retry budget, because a single request that backs off cannot overload its server.
    func session() -> SessionConfiguration {
        var session = SessionConfiguration()
        (session.maxConnectionsPerHost, session.maxConnections, session.endedTasksKept) = (1, 1, 0)
        (session.proxy, session.tls, session.userAgent) = (self.proxy, self.tls, self.userAgent)
        (session.retry, session.circuit, session.waitsOut) = (self.retry, .never, true)
        session.budget = RetryBudgetPolicy(retryCost: 0, connectCost: 0)
        return session
    }

    /// The request that sends a body.
    func request(with body: [UInt8]) throws(TaskError) -> TaskRequest {
        let secrets = try self.secrets().get()
        let headers =
            [
                HTTPField(name: .contentEncoding, value: "snappy"),
                HTTPField(name: .contentType, value: "application/x-protobuf"),
                try? HTTPField("X-Prometheus-Remote-Write-Version", "0.1.0"),
            ].compactMap(\.self) + secrets.headers
        var request = try TaskRequest(url: self.url, method: "POST", headers: headers, body: .data(body))
        request.options.name = "remote-write"
        request.destination = .discard
        // A receiver keeps only one of two equal samples.
        request.options.isMarkedIdempotent = true
        request.options.maxRedirects = 0
        request.options.attemptTimeout = .seconds(30)
        request.options.credentials = secrets.credentials
        return request
    }
}

package import HTTPTypes
package import TidegateMetrics
package import TidegateCore
package import TidegateSession

/// Where samples are sent, and how they wait.
package struct RemoteWriteConfiguration: Sendable {
    /// The receiver's URL.
    package var url: String
    /// The directory of the buffer; made where it is missing.
    package var directory: String
    /// How much the buffer's files may take together, in bytes.
    package var bound: Int64 = 64 << 20
    /// How often samples are taken.
    package var interval: Duration = .seconds(15)
    /// What every series gets that has no label of that name: nobody else says where it comes from.
    package var labels: [MetricSample.Label] = []
    /// The `User-Agent` header.
    package var userAgent = "tidegate"
    /// The proxy's URL; nil goes straight.
    package var proxy: String?
    /// Whom to trust.
    package var tls = TLSPolicy.system
    /// Asked before every segment, so that a rotated secret is sent; a failure is told, and asked again later.
    package var secrets: @Sendable () -> Result<Secrets, TaskError> = { .success(Secrets()) }
    /// How long a segment rests that no further try of its task can help.
    package var rest: Duration = .seconds(30)
    /// How tries of one segment follow each other: without end, so that nothing newer overtakes it.
    package var retry = RetryPolicy.standard

    /// What shows the receiver who sends.
    package struct Secrets: Sendable, Hashable {
        /// Header fields besides those of the protocol.
        package var headers: [HTTPField] = []
        /// For HTTP's Basic scheme.
        package var credentials: Credentials?

        package init(headers: [HTTPField] = [], credentials: Credentials? = nil) {
            self.headers = headers
            self.credentials = credentials
        }
    }

    /// A configuration with the defaults; tries half a minute apart at most.
    ///
    /// - Throws: ``PolicyError``, never with these numbers.
    package init(url: String, directory: String) throws(PolicyError) {
        self.url = url
        self.directory = directory
        self.retry = try RemoteWriteConfiguration.retry(base: .milliseconds(500), cap: .seconds(30))
    }

    /// Tries without end of what remote write 1.0 has senders try again, and of redirects: a portal on the way is no
    /// receiver.
    package static func retry(base: Duration, cap: Duration) throws(PolicyError) -> RetryPolicy {
        try RetryPolicy(
            attempts: 10_000, base: base, cap: cap, maxElapsed: nil,
            statuses: Set(300...399).union([429]).union(500...599))
    }

    /// Gives a label to every series that has none of that name.
    package mutating func label(_ name: String, _ value: String) {
        self.labels.append(MetricSample.Label(name, value))
    }

    /// One request at a time, which waits for its path.
    ///
    /// A single request that backs off cannot storm its server, and needs no budget beside that.
    func session() throws(PolicyError) -> SessionConfiguration {
        try SessionConfiguration(
            maxConnectionsPerHost: 1, maxConnections: 1, proxy: self.proxy, tls: self.tls, retry: self.retry,
            budget: try RetryBudgetPolicy(retryCost: 0, connectCost: 0), userAgent: self.userAgent, endedTasksKept: 0,
            circuit: .never, waitsOut: true)
    }

    /// The request that carries a body.
    func request(with body: [UInt8]) throws(TaskError) -> TaskRequest {
        let secrets = try self.secrets().get()
        let headers =
            [
                HTTPField(name: .contentEncoding, value: "snappy"),
                HTTPField(name: .contentType, value: "application/x-protobuf"), HTTPField.protocolVersion,
            ].compactMap(\.self) + secrets.headers
        var request = try TaskRequest(url: self.url, method: "POST", headers: headers, body: .data(body))
        request.name = "remote-write"
        request.destination = .discard
        // The receiver keeps one of two equal samples.
        request.isMarkedIdempotent = true
        request.maxRedirects = 0
        request.attemptTimeout = .seconds(30)
        request.credentials = secrets.credentials
        return request
    }
}

extension HTTPField {
    fileprivate static let protocolVersion = try? HTTPField("X-Prometheus-Remote-Write-Version", "0.1.0")
}

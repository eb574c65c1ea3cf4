internal import HTTPTypes
public import TidegateCore

/// The configuration of a session; its values are checked when the session is created.
public struct SessionConfiguration: Sendable, Hashable {
    /// The maximum number of simultaneous attempts per origin; 1 to 10,000.
    public var maxConnectionsPerHost = 6
    /// The maximum number of simultaneous attempts in total; 1 to 10,000.
    public var maxConnections = 100
    /// The proxies of tasks without proxies of their own; the environment is never read.
    public var proxy = ProxyPolicy.direct
    /// The jar for cookies, which are sent to the servers that set them; nil stores none.
    ///
    /// Several sessions may share one.
    public var cookies: CookieJar?
    /// The store of responses to revalidate instead of requesting them again; nil stores none.
    ///
    /// Several sessions may share one.
    public var validators: ValidatorStore?
    /// The certificates that the session trusts.
    public var tls = ServerTrustPolicy()
    /// How to retry tasks without a policy of their own.
    public var retry = RetryPolicy()
    /// Which redirects to follow for tasks without a policy of their own.
    public var redirects = RedirectPolicy.noDowngrade
    /// Whether a server with a public address may redirect to this host, its links and metadata services, for tasks that
    /// do not say.
    public var allowsPrivateRedirects = false
    /// The retry budget of an origin.
    public var budget = RetryBudgetPolicy()
    /// When the circuit of a failing origin opens.
    public var circuit = CircuitPolicy()
    /// The gate of tasks without a gate of their own.
    public var gate = GatePolicy()
    /// The `User-Agent` of tasks without one of their own.
    public var userAgent = "tidegate"
    /// The maximum size of a response's decoded body in bytes, for tasks without a limit of their own; nil is no limit.
    ///
    /// At least 1.
    public var maxBodyBytes: Int?
    /// How long an attempt survives the loss of its path while its source address exists; 0 s to 30 s.
    public var lossGrace = Duration.seconds(2)
    /// How long an attempt may stay silent after its path came back within the grace period; longer than 0.
    public var silenceAfterReturn = Duration.seconds(1)
    /// How long a suspended attempt keeps its connection; 0 or longer.
    public var pauseLimit = Duration.seconds(5)
    /// The number of finished tasks that ``Session/tasks()`` still lists; at least 0.
    public var endedTasksKept = 256
    /// True if tasks wait while the disk is full or the retry budget is empty; false if they fail.
    public var waitsOut = false
    /// How often a task that waits for disk space checks again; longer than 0.
    public var diskRecheck = Duration.seconds(60)
    /// What to redact in the URLs of events and lists of tasks.
    ///
    /// Results contain the unchanged URLs.
    public var redaction = URLRedaction()
    /// True starts a trace for every task without one (W3C Trace Context): its requests have the field `traceparent`,
    /// and its events the trace's id.
    public var startsTraces = false
    /// True keeps the lines that each attempt of a task sent and received, without bodies, as
    /// ``TransferTask/exchanges``; false by default.
    ///
    /// This takes a few KiB per attempt, at most 128, as long as the task is known.
    public var recordsExchanges = false
    /// True includes the hosts' retry budgets in the statistics, which requires reading every origin.
    package var reportsRetryTokens = false

    /// Creates the default configuration.
    public init() {}

    /// - Throws: The first property whose value is outside its range.
    package func validate() throws(ConfigurationValueError) {
        let (host, all) = (self.maxConnectionsPerHost, self.maxConnections)
        try ConfigurationValueError.check(
            (1...10_000).contains(host), "maxConnectionsPerHost", "\(host) is not 1 to 10000")
        try ConfigurationValueError.check((1...10_000).contains(all), "maxConnections", "\(all) is not 1 to 10000")
        try ConfigurationValueError.check(
            self.lossGrace >= .zero && self.lossGrace <= .seconds(30), "lossGrace", "the time is not 0 s to 30 s")
        try ConfigurationValueError.check(
            self.silenceAfterReturn > .zero, "silenceAfterReturn", "the time must be longer than 0")
        try ConfigurationValueError.check(self.pauseLimit >= .zero, "pauseLimit", "the time must not be negative")
        try ConfigurationValueError.check(self.diskRecheck > .zero, "diskRecheck", "the time must be longer than 0")
        try ConfigurationValueError.check(self.endedTasksKept >= 0, "endedTasksKept", "the number must not be negative")
        try ConfigurationValueError.check(
            HTTPField.isValidValue(self.userAgent), "userAgent", "it is not valid in a header field")
        try ConfigurationValueError.check(
            self.maxBodyBytes.map { $0 > 0 } ?? true, "maxBodyBytes", "the number must be greater than 0")
        try self.proxy.validate()
        try self.tls.validate()
        try self.retry.validate()
        try self.budget.validate()
        try self.circuit.validate()
        try self.gate.validate()
    }
}

internal import HTTPTypes
public import TidegateCore

/// The configuration of a session.
public struct SessionConfiguration: Sendable, Hashable {
    /// How many attempts run to one origin at a time; 1 and up.
    public let maxConnectionsPerHost: Int
    /// How many attempts run in all; 1 and up.
    public let maxConnections: Int
    /// The proxy's URL, `http://HOST:PORT`; nil connects directly.
    ///
    /// The environment is never read.
    public let proxy: String?
    /// What certificates the session trusts.
    public let tls: TLSPolicy
    /// How tasks are retried that have no policy of their own.
    public let retry: RetryPolicy
    /// The retry budget of an origin.
    public let budget: RetryBudgetPolicy
    /// What tasks wait for that have no gate of their own.
    public let gate: GatePolicy
    /// The `User-Agent` of tasks that have none of their own.
    public let userAgent: String
    /// How long an attempt survives a lost path while its source address is still there; 0 s to 30 s.
    public let lossGrace: Duration
    /// How long an attempt may stay silent after its path came back within the grace.
    public let silenceAfterReturn: Duration
    /// How long a suspended attempt keeps its connection before it is given back.
    public let pauseLimit: Duration
    /// How many finished tasks ``Session/tasks()`` still lists; 0 and up.
    public let endedTasksKept: Int
    /// When the circuit of a failing origin opens.
    public let circuit: CircuitPolicy
    /// True if tasks wait while the disk is full or the retry budget is empty; false if they fail.
    public let waitsOut: Bool
    /// How often a task that waits for disk space checks again.
    public let diskRecheck: Duration
    /// What is left out of URLs in events and lists of tasks.
    ///
    /// Results have theirs as they were given.
    public let redaction: URLRedaction
    /// True if the statistics include the hosts' retry budgets, which reads every origin.
    public let reportsRetryTokens: Bool

    /// The defaults.
    public static let standard = SessionConfiguration(
        unchecked: Limits(), proxy: nil, tls: .system, retry: .standard, budget: .standard, gate: .standard,
        userAgent: "tidegate")

    /// The bounds of a configuration; each has its default.
    public struct Limits: Sendable, Hashable {
        /// See ``SessionConfiguration/maxConnectionsPerHost``.
        public var maxConnectionsPerHost = 6
        /// See ``SessionConfiguration/maxConnections``.
        public var maxConnections = 100
        /// See ``SessionConfiguration/lossGrace``.
        public var lossGrace: Duration = .seconds(2)
        /// See ``SessionConfiguration/silenceAfterReturn``.
        public var silenceAfterReturn: Duration = .seconds(1)
        /// See ``SessionConfiguration/pauseLimit``.
        public var pauseLimit: Duration = .seconds(5)
        /// See ``SessionConfiguration/endedTasksKept``.
        public var endedTasksKept = 256
        /// See ``SessionConfiguration/circuit``.
        public var circuit = CircuitPolicy.standard
        /// See ``SessionConfiguration/waitsOut``.
        public var waitsOut = false
        /// See ``SessionConfiguration/diskRecheck``.
        public var diskRecheck: Duration = .seconds(60)
        /// See ``SessionConfiguration/redaction``.
        public var redaction = URLRedaction()
        /// See ``SessionConfiguration/reportsRetryTokens``.
        public var reportsRetryTokens = false

        /// The defaults.
        public init() {}
    }

    /// A configuration; what is left out is as in ``standard``.
    ///
    /// - Throws: ``PolicyError`` naming the field, as the configuration file spells it.
    public init(
        maxConnectionsPerHost: Int = 6, maxConnections: Int = 100, proxy: String? = nil, tls: TLSPolicy = .system,
        retry: RetryPolicy = .standard, budget: RetryBudgetPolicy = .standard, gate: GatePolicy = .standard,
        userAgent: String = "tidegate", lossGrace: Duration = .seconds(2),
        silenceAfterReturn: Duration = .seconds(1), pauseLimit: Duration = .seconds(5), endedTasksKept: Int = 256,
        circuit: CircuitPolicy = .standard, waitsOut: Bool = false, diskRecheck: Duration = .seconds(60),
        redaction: URLRedaction = URLRedaction(), reportsRetryTokens: Bool = false
    ) throws(PolicyError) {
        var limits = Limits()
        limits.maxConnectionsPerHost = maxConnectionsPerHost
        limits.maxConnections = maxConnections
        limits.lossGrace = lossGrace
        limits.silenceAfterReturn = silenceAfterReturn
        limits.pauseLimit = pauseLimit
        limits.endedTasksKept = endedTasksKept
        limits.circuit = circuit
        limits.waitsOut = waitsOut
        limits.diskRecheck = diskRecheck
        limits.redaction = redaction
        limits.reportsRetryTokens = reportsRetryTokens
        try SessionConfiguration.check(limits)
        if let proxy { try SessionConfiguration.check(proxy: proxy) }
        try PolicyError.check(HTTPField.isValidValue(userAgent), "user_agent", "a header cannot carry it")
        self.init(
            unchecked: limits, proxy: proxy, tls: tls, retry: retry, budget: budget, gate: gate, userAgent: userAgent)
    }

    private init(
        unchecked limits: Limits, proxy: String?, tls: TLSPolicy, retry: RetryPolicy, budget: RetryBudgetPolicy,
        gate: GatePolicy, userAgent: String
    ) {
        self.maxConnectionsPerHost = limits.maxConnectionsPerHost
        self.maxConnections = limits.maxConnections
        self.lossGrace = limits.lossGrace
        self.silenceAfterReturn = limits.silenceAfterReturn
        self.pauseLimit = limits.pauseLimit
        self.endedTasksKept = limits.endedTasksKept
        self.circuit = limits.circuit
        self.waitsOut = limits.waitsOut
        self.diskRecheck = limits.diskRecheck
        self.redaction = limits.redaction
        self.reportsRetryTokens = limits.reportsRetryTokens
        self.proxy = proxy
        self.tls = tls
        self.retry = retry
        self.budget = budget
        self.gate = gate
        self.userAgent = userAgent
    }

    private static func check(_ limits: Limits) throws(PolicyError) {
        let (host, all) = (limits.maxConnectionsPerHost, limits.maxConnections)
        try PolicyError.check((1...10_000).contains(host), "max_connections_per_host", "\(host) is not 1 to 10000")
        try PolicyError.check((1...10_000).contains(all), "max_connections", "\(all) is not 1 to 10000")
        try PolicyError.check(
            limits.lossGrace >= .zero && limits.lossGrace <= .seconds(30), "loss_grace", "the time is not 0 s to 30 s")
        try PolicyError.check(limits.silenceAfterReturn > .zero, "silence_after_return", "the time is not above 0")
        try PolicyError.check(limits.pauseLimit >= .zero, "pause_limit", "the time must not be negative")
        try PolicyError.check(limits.diskRecheck > .zero, "disk_recheck", "the time must be longer than 0")
        try PolicyError.check(limits.endedTasksKept >= 0, "ended_tasks_kept", "the number must not be negative")
    }

    private static func check(proxy: String) throws(PolicyError) {
        do {
            let url = try HTTPURL(proxy)
            try PolicyError.check(url.scheme == .http, "proxy", "\"\(proxy)\" is not an http:// URL")
            // Without one, this check would use 80 and libcurl 1080.
            let authority = proxy.dropFirst("http://".count).prefix { $0 != "/" }
            try PolicyError.check(
                authority.hasSuffix(":\(url.target.port ?? 0)"), "proxy", "\"\(proxy)\" names no port")
        } catch let error as HTTPURLError {
            throw PolicyError(field: "proxy", problem: error.description)
        } catch let error as PolicyError {
            throw error
        } catch {
            throw PolicyError(field: "proxy", problem: "\(error)")
        }
    }
}

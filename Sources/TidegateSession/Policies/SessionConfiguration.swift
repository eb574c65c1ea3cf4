internal import HTTPTypes
public import TidegateCore

/// Everything a session is told once.
public struct SessionConfiguration: Sendable, Hashable {
    /// How many attempts run to one origin at a time; 1 and up.
    public let maxConnectionsPerHost: Int
    /// How many attempts run in all; 1 and up.
    public let maxConnections: Int
    /// The proxy's URL, `http://HOST:PORT`; nil goes straight.
    ///
    /// The environment is never read.
    public let proxy: String?
    /// Whom the session trusts.
    public let tls: TLSPolicy
    /// How tasks are tried again, where they do not say otherwise.
    public let retry: RetryPolicy
    /// How many retries an origin is good for.
    public let budget: RetryBudgetPolicy
    /// What tasks wait for, where they do not say otherwise.
    public let gate: GatePolicy
    /// The `User-Agent` header, where a task has none of its own.
    public let userAgent: String
    /// How long an attempt survives a lost path while its source address is still there; 0 s to 30 s.
    public let lossGrace: Duration
    /// How long an attempt may stay silent after its path came back within the grace.
    public let silenceAfterReturn: Duration
    /// How long a suspended attempt keeps its connection before it is given back.
    public let pauseLimit: Duration
    /// How many ended tasks ``Session/tasks()`` still shows; 0 and up.
    public let endedTasksKept: Int
    /// When an origin that fails is left alone.
    public let circuit: CircuitPolicy
    /// True where a full disk and an empty retry budget are waited for; false where they fail the task.
    public let waitsOut: Bool
    /// How often a task that waits for room on the disk looks again.
    public let diskRecheck: Duration
    /// What is left out of the URLs that events and lists of tasks tell.
    ///
    /// Results have theirs as they were given.
    public let redaction: URLRedaction
    /// True where the statistics have the hosts' retry budgets, which takes a look at every origin.
    public let tellsRetryTokens: Bool

    /// The configuration without a word of the user's.
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
        /// See ``SessionConfiguration/tellsRetryTokens``.
        public var tellsRetryTokens = false

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
        redaction: URLRedaction = URLRedaction(), tellsRetryTokens: Bool = false
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
        limits.tellsRetryTokens = tellsRetryTokens
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
        self.tellsRetryTokens = limits.tellsRetryTokens
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
            // Without one, 80 would be judged here and 1080 asked by libcurl.
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

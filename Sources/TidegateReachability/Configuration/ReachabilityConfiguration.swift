public import TidegateCore

/// What a monitor watches; its values are checked when a monitor is made with it.
public struct ReachabilityConfiguration: Sendable, Hashable {
    /// The addresses whose lookups stand for "the internet", by family.
    ///
    /// No packet is ever sent to them. Four or more global unicast addresses of each family work best, with those of
    /// IPv4 in both halves of the address space.
    public var sentinels = ReachabilityConfiguration.defaultSentinels
    /// The targets to evaluate, in the order of the status.
    public var targets: [Target]
    /// Whether, how and how often each target is checked.
    ///
    /// A target that is absent is connected to every 15 seconds if it has a port, and not checked if it has none.
    public var targetChecks: [Target: TargetCheck] = [:]
    /// The resolvers whose routes count while a name has no address; empty for those of /etc/resolv.conf.
    public var resolvers: [IPAddress] = []
    /// Anchored regular expressions: links kept out of series and events.
    ///
    /// They still count for the verdict.
    public var excludedInterfaces = ReachabilityConfiguration.defaultExcludedInterfaces
    /// Anchored regular expressions: links whose traffic costs money.
    public var meteredInterfaces: [String] = []
    /// The mark of the sockets to look up routes for (SO_MARK in socket(7)), which policy rules may match; nil for none.
    public var mark: UInt32?
    /// The user of the sockets to look up routes for, which policy rules may match (uidrange in ip-rule(8)).
    ///
    /// Nil for the user that this process runs as.
    public var uid: UInt32?
    /// Whether and how the internet is checked; by default not at all.
    public var internetCheck = InternetCheckPolicy.off

    /// The links excluded by default: loopback and those of containers.
    public static let defaultExcludedInterfaces = ["lo", "veth.*", "docker.*", "br-.*", "cni.*"]

    /// A configuration with the defaults, and targets to evaluate.
    public init(targets: [Target] = []) { self.targets = targets }

    package func validate() throws(ConfigurationValueError) {
        for (property, patterns) in [
            ("reachability.excludedInterfaces", self.excludedInterfaces),
            ("reachability.meteredInterfaces", self.meteredInterfaces),
        ] {
            for pattern in patterns where (try? Regex(pattern)) == nil {
                throw ConfigurationValueError(
                    property: property, problem: "\"\(pattern)\" is not a regular expression")
            }
        }
        for target in self.targets { try self.targetChecks[target]?.validate(for: target) }
        try self.internetCheck.validate()
    }

    /// Public resolvers and name servers of several operators and registries: IPv4 in both halves, IPv6 in four blocks.
    public static let defaultSentinels: [AddressFamily: [IPAddress]] = [
        .ipv4: ["1.1.1.1", "8.8.8.8", "9.9.9.9", "193.0.14.129", "198.41.0.4", "199.7.91.13"],
        .ipv6: [
            "2001:4860:4860::8888", "2400:cb00:2049:1::a29f:1804", "2600:9000:5300:4500::1", "2a00:1450:4001:80b::200e",
        ],
    ].mapValues { $0.compactMap { IPAddress($0) } }
}

/// Whether, how and how often the internet is checked.
public struct InternetCheckPolicy: Sendable, Hashable {
    /// False if checks are made only on demand.
    public var isEnabled: Bool
    /// The URLs that are requested; best of at least two operators, over both http and https.
    public var urls: [InternetCheckURL]
    /// From one success to the next check: at least 10 s.
    public var interval: Duration

    /// No checks, the default: no packet is sent to hosts that the configuration does not name.
    public static let off = InternetCheckPolicy(isEnabled: false, urls: [])

    /// A policy; by default checks every 5 minutes.
    public init(isEnabled: Bool = true, urls: [InternetCheckURL], interval: Duration = .seconds(300)) {
        self.isEnabled = isEnabled
        self.urls = urls
        self.interval = interval
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            !self.isEnabled || !self.urls.isEmpty, "internetCheck.urls", "internet checks are enabled without a URL")
        try ConfigurationValueError.check(
            self.interval >= .seconds(10), "internetCheck.interval",
            "internet checks every \(self.interval) are more than one in 10 seconds")
    }
}

/// A URL whose answer shows whether the internet can be reached.
///
/// Over http the answer must be 204, an empty 200, or begin with the expected body. A redirect to another host, status
/// 511 and another body than the expected one mean a portal; anything else only means that the URL is unsuitable. Over
/// https any 2xx status is good, because the certificate proves the server.
public struct InternetCheckURL: Sendable, Hashable {
    let location: HTTPURL
    /// How the answer's body begins; nil if it is empty.
    public let expectedBody: String?

    /// The URL of the request.
    public var text: String { self.location.description }

    /// Parses an absolute http or https URL.
    ///
    /// - Throws: ``ConfigurationValueError``, which quotes the text that is not such a URL.
    public init(_ text: String, expectedBody: String? = nil) throws(ConfigurationValueError) {
        guard let location = try? HTTPURL(text) else {
            throw ConfigurationValueError(
                property: "internetCheck.urls", problem: "\"\(text)\" is not an http:// or https:// URL")
        }
        self.location = location
        self.expectedBody = expectedBody
    }
}

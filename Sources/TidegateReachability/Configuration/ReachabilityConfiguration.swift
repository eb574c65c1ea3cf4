public import TidegateCore

/// The configuration of a monitor; its values are checked when the monitor is created.
public struct ReachabilityConfiguration: Sendable, Hashable {
    /// The addresses whose route lookups represent "the internet", by family.
    ///
    /// Verdicts need no packet to them; only diagnoses send some. Four or more global unicast addresses of each family
    /// work best; those of IPv4 should be in both halves of the address space.
    public var sentinels = ReachabilityConfiguration.defaultSentinels
    /// The targets to evaluate, in the order of the status.
    public var targets: [Target]
    /// Whether, how and how often each target is checked.
    ///
    /// A target without an entry is checked by connecting to it every 15 seconds if it has a port, and not at all if it
    /// has none.
    public var targetChecks: [Target: TargetCheck] = [:]
    /// The resolvers whose routes count while a name has no address; empty uses those of /etc/resolv.conf.
    public var resolvers: [IPAddress] = []
    /// Anchored regular expressions for links to leave out of series and events.
    ///
    /// These links still count for the verdict.
    public var excludedInterfaces = ReachabilityConfiguration.defaultExcludedInterfaces
    /// Anchored regular expressions for metered links.
    public var meteredInterfaces: [String] = []
    /// The socket mark for route lookups (SO_MARK in socket(7)), which policy rules may match; nil for none.
    public var mark: UInt32?
    /// The user for route lookups, which policy rules may match (uidrange in ip-rule(8)).
    ///
    /// Nil for the user of this process.
    public var uid: UInt32?
    /// Whether and how to check the internet; off by default.
    public var internetCheck = InternetCheckPolicy.off
    /// Whether diagnoses may send packets with limited hops towards the sentinels while something is silent.
    public var publicDiagnosis = PublicDiagnosis.auto
    /// Whether ways out that are not used are asked each minute; off by default.
    public var checksStandby = false

    /// The links excluded by default: loopback and container links.
    public static let defaultExcludedInterfaces = ["lo", "veth.*", "docker.*", "br-.*", "cni.*"]

    /// Creates the default configuration with some targets to evaluate.
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

/// Whether diagnoses send packets with limited hops towards a public address, as traceroute(8) does.
public enum PublicDiagnosis: String, Sendable, CaseIterable, Hashable {
    /// Only while something is silent: with each diagnosis in the first two minutes, then one a minute, and after an
    /// hour ten an hour.
    case auto
    /// Never: an outage beyond the gateway may stay unexplained.
    case off
}

/// Whether, how and how often the internet is checked.
public struct InternetCheckPolicy: Sendable, Hashable {
    /// False if checks run only on demand.
    public var isEnabled: Bool
    /// The URLs to request; ideally from at least two operators, over both http and https.
    public var urls: [InternetCheckURL]
    /// The interval from a success to the next check; at least 10 s.
    public var interval: Duration

    /// No checks, the default: no packet is sent to hosts that the configuration does not name.
    public static let off = InternetCheckPolicy(isEnabled: false, urls: [])

    /// Creates a policy; by default it checks every 5 minutes.
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
            "internet checks every \(self.interval) are more frequent than one in 10 seconds")
    }
}

/// A URL whose response shows whether the internet is reachable.
///
/// Over http the response must be 204, an empty 200, or begin with the expected body. A redirect to another host,
/// status 511 or a different body than expected indicates a portal; anything else only means that the URL is
/// unsuitable. Over https any 2xx status is good, because the certificate proves the server's identity.
public struct InternetCheckURL: Sendable, Hashable {
    let location: HTTPURL
    /// The start of the expected body; nil for an empty body.
    public let expectedBody: String?

    /// The URL of the request.
    public var text: String { self.location.description }

    /// Parses an absolute http or https URL.
    ///
    /// - Throws: ``ConfigurationValueError``, which quotes the invalid text.
    public init(_ text: String, expectedBody: String? = nil) throws(ConfigurationValueError) {
        do throws(HTTPURLError) { self.location = try HTTPURL(text) } catch {
            throw ConfigurationValueError(property: "internetCheck.urls", problem: "\(error)")
        }
        self.expectedBody = expectedBody
    }
}

/// Answers requests for probes; the endpoint asks, the daemon passes one in.
package protocol ProbeService: Sendable {
    /// Probes once, regardless of the result.
    ///
    /// - Throws: Why there was nothing to probe.
    func probe(_ question: ProbeQuestion) async throws(ProbeRefusal) -> ProbeReport
    /// True if there is any module.
    var hasModules: Bool { get }
    /// The modules in YAML, without secrets.
    var modules: String { get }
    /// The latest probes and the latest failures, the newest first.
    var history: [ProbeReport] { get }
}

/// What a request to `/probe` asks for.
package struct ProbeQuestion: Sendable, Hashable {
    /// The module's name.
    package var module: String
    /// What is probed; empty if the request names nothing.
    package var target: String
    /// The name that the target is asked for; nil for its own.
    package var hostname: String?
    /// How long the scrape may take, as `X-Prometheus-Scrape-Timeout-Seconds` has it; nil if it says nothing.
    package var scrapeTimeout: String?
    /// True if the client may have a module's credentials sent to any target.
    package var isTrusted: Bool

    /// A question from its parts.
    package init(
        module: String, target: String, hostname: String? = nil, scrapeTimeout: String? = nil, isTrusted: Bool = true
    ) {
        (self.module, self.target, self.hostname, self.scrapeTimeout) = (module, target, hostname, scrapeTimeout)
        self.isTrusted = isTrusted
    }
}

/// Why a question cannot be answered with a probe.
package enum ProbeRefusal: Error, Sendable, Hashable {
    /// There is no module of that name.
    case unknownModule(String)
    /// The scrape's timeout is no number.
    case badTimeout(String)
    /// No target is named.
    case missingTarget
    /// The module already sets the host name to ask its targets for.
    case hostnameConflict(module: String, parameter: String)
    /// The requested host name is not valid.
    case invalidHostname(String)
    /// The module has credentials, and a web page may be asking.
    case credentials(module: String)
    /// Too many probes are running.
    case tooMany(limit: Int)
}

/// What a probe found.
package struct ProbeReport: Sendable, Hashable {
    /// Why a probe did not succeed.
    package typealias Failure = ProbeFailure

    /// Its number, from 1, in the order in which probes ended.
    package var number: UInt64 = 0
    /// The module's name.
    package var module: String
    /// What was probed.
    package var target: String
    /// When it began.
    package var start: WallTime
    /// How long it took.
    package var duration: Duration
    /// Why it did not succeed; nil if it did.
    package var failure: Failure?
    /// True if this host had no path to the target, which was therefore not asked.
    package var isGated: Bool
    /// True if the fault lies with this host, its gateway, provider or resolver, so that the target was not judged.
    package var isOutage: Bool
    /// The addresses of its last connection; nil if there was none.
    package var connection: ProbeConnection?
    /// What it measured.
    package var families: [GaugeFamily]
    /// What happened.
    package var log: ProbeLog
    /// The module in YAML, without secrets.
    package var configuration: String

    /// A report from its parts.
    package init(
        module: String, target: String, start: WallTime, duration: Duration, failure: Failure?, isGated: Bool,
        isOutage: Bool = false, connection: ProbeConnection? = nil, families: [GaugeFamily], log: ProbeLog,
        configuration: String
    ) {
        (self.module, self.target, self.start, self.duration) = (module, target, start, duration)
        (self.failure, self.isGated, self.isOutage, self.connection) = (failure, isGated, isOutage, connection)
        (self.families, self.log, self.configuration) = (families, log, configuration)
    }

    /// The family of the address that was probed; nil if there was none.
    package var family: AddressFamily? {
        switch self.families.first(where: { $0.name == "probe_ip_protocol" })?.value() {
        case 4: .ipv4
        case 6: .ipv6
        default: nil
        }
    }

    /// When the first certificate of the chain ends that the server showed; nil if it showed none.
    var certificateExpiry: WallTime? {
        let family = self.families.first { $0.name == "probe_ssl_earliest_cert_expiry" }
        guard let seconds = family?.value(), seconds > 0, seconds < 1e11 else { return nil }
        return WallTime(microseconds: Int64(seconds * 1e6))
    }
}

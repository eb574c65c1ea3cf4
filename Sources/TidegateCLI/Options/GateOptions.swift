internal import ArgumentParser
internal import Glibc
internal import Tidegate

/// What `wait` and `run` wait for.
struct GateOptions: ParsableArguments {
    @Option(name: .customLong("for"), help: .value("condition", "Condition to wait for (repeatable; default: route)."))
    var conditions: [String] = []

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions
    @OptionGroup var authority: AuthorityOptions

    @OptionGroup var verbosity: VerbosityOptions

    /// The conditions, for help.
    static let conditionHelp = """
        Conditions (default: route):
          carrier[:IF]             a link has a carrier
          address[:IF][:v4|v6]     a link has an address
          route[:v4|v6]            there is a default route
          gateway                  the default gateway answers on its link
          dns                      a resolver answers when asked for a.root-servers.net
          dns:NAME                 NAME has an address, looked up as programs do
          internet                 the URLs of --internet-check answer as they should
          host:NAME                there is a route to NAME, a name or an address
          host:NAME:PORT[/tcp]     it accepts connections
          host:NAME:PORT/tls       it completes a TLS handshake
          host:NAME:PORT/http      it answers GET / with a status below 400
          http://... https://...   a GET is answered with a status below 400

        Each check has 5 s. Redirects are answers and are not followed. Without --internet-check, internet asks the \
        connectivity checks of two well-known operators.
        """

    /// The parsed options.
    struct Parsed: Sendable {
        var wait: WaitConfiguration
        /// The check behind the condition `internet`.
        var internetCheck: InternetCheckPolicy
        /// The CA certificates that servers are verified against; nil for the system's.
        var caFile: String?
    }

    /// The parsed options with a `timeout`; nil waits forever.
    func parsed(timeout: Duration?) throws -> Parsed {
        let conditions = try self.conditions.map {
            try OptionParsing.naming("--for", WaitCondition($0, zone: TargetText.zone))
        }
        return Parsed(
            wait: WaitConfiguration(
                conditions.isEmpty ? [.route(family: nil)] : conditions, family: self.family.family, timeout: timeout),
            internetCheck: try self.internetCheck.policy(isRequired: conditions.contains(.internet)),
            caFile: self.authority.caFile)
    }
}

/// `--internet-check`, repeatable.
struct InternetCheckOptions: ParsableArguments {
    @Option(name: .customLong("internet-check"), help: .value("url", "URL to check for internet access (repeatable)."))
    var texts: [String] = []

    /// The default URLs of a required check: two operators, over http, which reveals captive portals, and https.
    static let defaultURLs = [
        "http://connectivitycheck.gstatic.com/generate_204", "http://cp.cloudflare.com/generate_204",
        "https://www.gstatic.com/generate_204",
    ]

    /// The internet check that the options select.
    ///
    /// - Parameter isRequired: If the option is absent, true selects the default URLs and false turns the check off.
    func policy(isRequired: Bool) throws -> InternetCheckPolicy {
        let texts = self.texts.isEmpty && isRequired ? InternetCheckOptions.defaultURLs : self.texts
        guard !texts.isEmpty else { return .off }
        let urls = try texts.map { text in
            try Result { () throws(ConfigurationValueError) in try InternetCheckURL(text) }
                .mapError { ValidationError("--internet-check: \($0.problem)") }.get()
        }
        return InternetCheckPolicy(urls: urls)
    }

    func validate() throws { _ = try self.policy(isRequired: false) }
}

/// `--target`, repeatable.
struct TargetOptions: ParsableArguments {
    @Option(name: .customLong("target"), help: .value("host[:port]", "Also check this target (repeatable)."))
    var texts: [String] = []

    /// The targets in the order given.
    func targets() throws -> [Target] {
        try self.texts.map { try OptionParsing.naming("--target", Target($0, zone: TargetText.zone)) }
    }

    func validate() throws { _ = try self.targets() }
}

/// Parses targets; an IPv6 zone may be the name of an interface.
enum TargetText {
    /// A host, a host with a port, or a URL.
    static func parseSubject(_ text: String) throws -> ExplainTarget {
        do {
            // A text with a scheme can only be a URL, and its errors differ from those of a host.
            if text.contains("://") {
                let target = try HTTPURL(text, zone: self.zone).target
                // Without brackets the last group could be a port (RFC 3986 3.2.2).
                guard target.address?.family != .ipv6 || text.contains("[") else {
                    throw TextError("the IPv6 address in \"\(text)\" must be in brackets: [\(target.host)]")
                }
            }
            return try ExplainTarget(text, zone: self.zone)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The index of an interface, given by name or number; nil if there is no such interface.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}

/// `-4` and `-6`.
struct FamilyOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Use IPv4 only.")
    var isIPv4 = false

    @Flag(name: .customShort("6"), help: "Use IPv6 only.")
    var isIPv6 = false

    /// The selected family; nil for both.
    var family: AddressFamily? { self.isIPv4 ? .ipv4 : self.isIPv6 ? .ipv6 : nil }

    func validate() throws {
        if self.isIPv4, self.isIPv6 { throw ValidationError("-4 and -6 are mutually exclusive") }
    }
}

extension ReachabilityStatus {
    /// The status restricted to one family, with the global verdict that follows from it.
    func only(_ family: AddressFamily?) -> ReachabilityStatus {
        guard let family else { return self }
        var status = self
        status.families = self.families.filter { $0.family == family }
        status.global = ReachabilityStatus.global(over: status.families)
        status.targets = self.targets.map { entry in
            let addresses = entry.addresses.filter { $0.address.family == family }
            let best = addresses.max { $0.verdict.level < $1.verdict.level }?.verdict
            // A resolved name without an address of this family is unreachable; an unresolved one keeps its verdict.
            let verdict = best ?? (entry.addresses.isEmpty ? entry.verdict : Verdict(level: .none, reason: .noAddress))
            return TargetVerdict(target: entry.target, verdict: verdict, addresses: addresses)
        }
        return status
    }
}

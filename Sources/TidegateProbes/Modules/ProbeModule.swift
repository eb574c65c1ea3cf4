package import HTTPTypes
package import TidegateCEL
package import TidegateCore
package import TidegateSession

/// How to probe targets: a module of blackbox_exporter's configuration.
package struct ProbeModule: Sendable, Hashable {
    /// What asks, and how.
    package enum Prober: Sendable, Hashable {
        case http(HTTPProbeOptions = HTTPProbeOptions())
        case icmp(ICMPProbeOptions = ICMPProbeOptions())
        case dns(DNSProbeOptions = DNSProbeOptions())
        case tcp(StreamProbeOptions = StreamProbeOptions())
        case unix(StreamProbeOptions = StreamProbeOptions())
        case grpc(GRPCProbeOptions = GRPCProbeOptions())
        case websocket(WebSocketProbeOptions = WebSocketProbeOptions())

        /// The value of the key `prober`, and the name of the block with the options.
        package var name: String {
            switch self {
            case .http: "http"
            case .icmp: "icmp"
            case .dns: "dns"
            case .tcp: "tcp"
            case .unix: "unix"
            case .grpc: "grpc"
            case .websocket: "websocket"
            }
        }
    }

    package var prober: Prober
    /// The time limit of a probe; nil uses the scrape's.
    package var timeout: Duration?
    /// The module as it was written, in YAML and without secrets.
    package var text = ""
}

extension ProbeModule {
    /// A module that leaves the timeout to the scrape.
    package init(prober: Prober, text: String = "") { (self.prober, self.text) = (prober, text) }

    /// True if its requests carry what is meant for their target alone: passwords, tokens, certificates, and fields that
    /// may be secrets.
    package var hasCredentials: Bool {
        switch self.prober {
        case .http(let options):
            return options.authorization != nil || options.oauth2 != nil || options.tls.hasIdentity
                || (options.headers.map(\.name.rawName) + options.secretHeaders.map(\.name))
                    .contains(where: SecretHeader.mayBeSecret)
        case .websocket(let options):
            return options.authorization != nil || options.oauth2 != nil || options.tls.hasIdentity
                || options.secretHeaders.map(\.name).contains(where: SecretHeader.mayBeSecret)
        case .grpc(let options): return !options.metadata.isEmpty || options.tls.hasIdentity
        case .tcp(let options): return options.tls.hasIdentity
        case .dns(let options): return options.tls.hasIdentity
        case .unix, .icmp: return false
        }
    }
}

/// Which of a name's addresses to probe.
package struct FamilyPreference: Sendable, Hashable {
    /// The family to use if the name has routed addresses of both.
    package var family: AddressFamily
    /// True if the other family is used when there is no address of the preferred one.
    package var allowsFallback: Bool

    /// A preference; the defaults are blackbox_exporter's.
    package init(_ family: AddressFamily = .ipv6, allowsFallback: Bool = true) {
        self.family = family
        self.allowsFallback = allowsFallback
    }
}

/// The packet of the prober `icmp`.
package struct ICMPProbeOptions: Sendable, Hashable {
    package var family = FamilyPreference()
    package var source = ProbeSource()
    /// The payload size of a request in bytes; 0 for blackbox_exporter's 28.
    package var payloadSize = 0
    /// True if IPv4 packets must not be fragmented, here or on the way.
    package var forbidsFragments = false
    /// The hop limit of packets; 0 for this host's default.
    package var hopLimit = 0

    /// blackbox_exporter's defaults.
    package init() {}
}

/// How a probe's packets leave this host.
package struct ProbeSource: Sendable, Hashable {
    /// The source address of packets; nil lets the kernel choose.
    package var address: IPAddress?
    /// The only interface that packets may use; nil lets the routes decide.
    package var interface: String?

    /// The kernel's choice.
    package init() {}

    /// The preference, restricted to the family of the source address.
    func narrowing(_ preference: FamilyPreference) -> FamilyPreference {
        self.address.map { FamilyPreference($0.family, allowsFallback: false) } ?? preference
    }

    /// The addresses that packets can be sent to.
    ///
    /// Only packets bound to an interface reach a link-local IPv6 address without a zone; such an address is left out
    /// unless there is no other.
    func usable(_ addresses: [IPAddress]) -> [IPAddress] {
        let own = self.address.map { own in addresses.filter { $0.family == own.family } } ?? addresses
        let reachable = own.filter { self.isBound || $0.family == .ipv4 || !$0.isLinkLocal || $0.zone != 0 }
        return reachable.isEmpty ? own : reachable
    }

    /// True if packets are bound to one interface, so that the routes do not apply.
    var isBound: Bool { self.interface != nil }
}

/// The service that the prober `grpc` checks, and how it is called.
package struct GRPCProbeOptions: Sendable, Hashable {
    /// The service to check; empty for the whole server.
    package var service = ""
    package var family = FamilyPreference()
    /// True if the connection is encrypted.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    /// Further metadata of the call; values may be secrets.
    package var metadata: [HTTPField] = []

    /// blackbox_exporter's defaults.
    package init() {}
}

/// The dialogue of the probers `tcp` and `unix`, and their conditions for success.
package struct StreamProbeOptions: Sendable, Hashable {
    /// The steps in order; empty if a connection is enough.
    package var dialogue: [Step] = []
    /// True if the connection is encrypted from its start.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    package var family = FamilyPreference()
    package var source = ProbeSource()

    /// blackbox_exporter's defaults.
    package init() {}

    /// True if the connection is encrypted at any time.
    package var mayUseTLS: Bool { self.usesTLS || self.dialogue.contains { $0.startsTLS } }

    /// True if nothing that the server sends after the handshake shows whether it accepts this host's certificate.
    package var ignoresRefusal: Bool {
        self.mayUseTLS && self.tls.hasIdentity
            && self.dialogue.reversed().prefix { !$0.startsTLS }
                .allSatisfy { $0.expect == nil && $0.expectedBytes.isEmpty }
    }

    /// One entry of `query_response`: first the expected input, then the output, then TLS.
    package struct Step: Sendable, Hashable {
        /// Lines are read until one matches; nil reads no lines.
        package var expect: RegularExpression?
        /// The bytes expected next; empty reads none.
        package var expectedBytes: [UInt8] = []
        /// The line to send, in which `${1}` stands for a group of ``expect``; empty sends nothing.
        package var send = ""
        /// True if a TLS handshake follows.
        package var startsTLS = false
        /// Labels of `probe_expect_info`, with values that are templates like ``send``.
        package var labels: [Label] = []

        /// A step that does nothing.
        package init() {}
    }

    /// A label of `probe_expect_info`.
    package struct Label: Sendable, Hashable {
        package var name: String
        package var value: String

        /// A label with these values.
        package init(name: String = "", value: String = "") {
            self.name = name
            self.value = value
        }
    }
}

/// The handshake and dialogue of the prober `websocket`, and its conditions for success.
package struct WebSocketProbeOptions: Sendable, Hashable {
    package var family = FamilyPreference()
    package var tls = ProbeTLSOptions()
    package var authorization: ProbeAuthorization?
    /// How to obtain an access token; nil for none.
    package var oauth2: OAuth2Options?
    /// Header fields of the request, from `headers` and `http_config`.
    package var secretHeaders: [SecretHeader] = []
    /// The steps in order; empty if a WebSocket connection is enough.
    package var dialogue: [StreamProbeOptions.Step] = []

    /// blackbox_exporter's defaults.
    package init() {}

    /// The value of the header field Host; nil if it is not set, or set by a file.
    var hostHeader: String? {
        guard case .text(let host)? = self.secretHeaders.last(where: \.isHost)?.value else { return nil }
        return host
    }

    /// Sets the requested host, and the name for the certificate unless the module names another one.
    mutating func ask(for host: Target) {
        self.secretHeaders.removeAll(where: \.isHost)
        self.secretHeaders.append(SecretHeader(name: "Host", value: .text("\(host)")))
        if self.tls.serverName == nil { self.tls.serverName = host.host }
    }
}

extension SecretHeader {
    fileprivate var isHost: Bool { self.name.lowercased() == "host" }

    /// True of a field that may not go to another origin; Host is no secret.
    package static func mayBeSecret(_ name: String) -> Bool {
        name.lowercased() != "host" && HTTPField.Name(name).map(PortableFields.mayCrossOrigins) != true
    }
}

/// How a probe obtains an access token: the client credentials grant (RFC 6749 4.4).
package struct OAuth2Options: Sendable, Hashable {
    package var clientID = ""
    package var clientSecret = Secret.text("")
    package var scopes: [String] = []
    /// The token server's URL; nil until it is read.
    package var tokenURL: HTTPURL?
    /// Additional parameters by name.
    package var parameters: [String: String] = [:]
    package var tls = ProbeTLSOptions()
    package var proxy = ProxyPolicy.direct

    /// Options without a client.
    package init() {}
}

/// A header field that may be a secret: it is sent only to the first origin, and never shown.
package struct SecretHeader: Sendable, Hashable {
    package var name: String
    package var value: Secret

    /// A field with these values.
    package init(name: String, value: Secret) {
        self.name = name
        self.value = value
    }
}

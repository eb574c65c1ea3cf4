package import HTTPTypes
package import TidegateCEL
package import TidegateCore
package import TidegateSession

/// How targets are probed: a module of blackbox_exporter's configuration.
package struct ProbeModule: Sendable, Hashable {
    /// What asks.
    package enum Prober: String, Sendable, CaseIterable {
        case http
        case icmp
        case dns
        case tcp
        case unix
        case grpc
        case websocket
    }

    package var prober: Prober
    /// How long a probe may take; nil leaves it to the scrape.
    package var timeout: Duration?
    /// What the prober `http` asks, and what it takes for a success.
    package var http = HTTPProbeOptions()
    /// What the prober `icmp` sends.
    package var icmp = ICMPProbeOptions()
    /// What the prober `dns` asks, and what it takes for a success.
    package var dns = DNSProbeOptions()
    /// What the prober `tcp` says, and what it takes for a success.
    package var tcp = StreamProbeOptions()
    /// The same of the prober `unix`.
    package var unix = StreamProbeOptions()
    /// Which service the prober `grpc` asks about.
    package var grpc = GRPCProbeOptions()
    /// What the prober `websocket` says, and what it takes for a success.
    package var websocket = WebSocketProbeOptions()
    /// The module as it was written, in YAML and without secrets.
    package var text = ""
}

extension ProbeModule {
    /// A module without options.
    package init(prober: Prober) { self.prober = prober }
}

extension ProbeModule {
    /// True if its requests carry what is meant for their target alone: passwords, tokens, certificates, and fields that
    /// may be secrets.
    package var hasCredentials: Bool {
        func mayBeSecret(_ names: [String]) -> Bool {
            names.contains { name in
                name.lowercased() != "host" && HTTPField.Name(name).map(PortableFields.mayCrossOrigins) != true
            }
        }
        switch self.prober {
        case .http:
            let http = self.http
            return http.authorization != nil || http.oauth2 != nil || http.tls.hasIdentity
                || mayBeSecret(http.headers.map(\.name.rawName) + http.secretHeaders.map(\.name))
        case .websocket:
            let websocket = self.websocket
            return websocket.authorization != nil || websocket.oauth2 != nil || websocket.tls.hasIdentity
                || mayBeSecret(websocket.secretHeaders.map(\.name))
        case .grpc: return !self.grpc.metadata.isEmpty || self.grpc.tls.hasIdentity
        case .tcp: return self.tcp.tls.hasIdentity
        case .dns: return self.dns.tls.hasIdentity
        case .unix, .icmp: return false
        }
    }
}

/// Which of a name's addresses is probed.
package struct FamilyPreference: Sendable, Hashable {
    /// The family that is taken if the name has both and both are routed.
    package var family: AddressFamily
    /// Whether the other family is taken if there is no address of the preferred one.
    package var allowsFallback: Bool

    /// A preference; the defaults are blackbox_exporter's.
    package init(_ family: AddressFamily = .ipv6, allowsFallback: Bool = true) {
        self.family = family
        self.allowsFallback = allowsFallback
    }
}

/// What the prober `icmp` sends.
package struct ICMPProbeOptions: Sendable, Hashable {
    package var family = FamilyPreference()
    package var source = ProbeSource()
    /// How many bytes a request carries; 0 for blackbox_exporter's 28.
    package var payloadSize = 0
    /// Whether IPv4 packets must not be fragmented, here or on the way.
    package var forbidsFragments = false
    /// How many routers a packet may pass; 0 for this host's usual number.
    package var hopLimit = 0

    /// blackbox_exporter's defaults.
    package init() {}
}

/// Where a probe leaves this host.
package struct ProbeSource: Sendable, Hashable {
    /// The address that packets are sent from; nil leaves that to the kernel.
    package var address: IPAddress?
    /// The only interface that they may leave by; nil leaves that to the routes.
    package var interface: String?

    /// The kernel's choice.
    package init() {}

    /// The preference, as far as the source's address allows it.
    func narrowing(_ preference: FamilyPreference) -> FamilyPreference {
        self.address.map { FamilyPreference($0.family, allowsFallback: false) } ?? preference
    }

    /// Those of several addresses that packets can go to.
    func usable(_ addresses: [IPAddress]) -> [IPAddress] {
        self.address.map { own in addresses.filter { $0.family == own.family } } ?? addresses
    }

    /// True if the routes say nothing of packets that may leave by one interface only.
    var isBound: Bool { self.interface != nil }
}

/// Which service the prober `grpc` asks about, and how.
package struct GRPCProbeOptions: Sendable, Hashable {
    /// The service whose health is asked for; empty for that of the whole server.
    package var service = ""
    package var family = FamilyPreference()
    /// Whether the connection is encrypted.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    /// What else the call carries; values may be secrets.
    package var metadata: [HTTPField] = []

    /// blackbox_exporter's defaults.
    package init() {}
}

/// What the probers `tcp` and `unix` say to a server, and what they take for a success.
package struct StreamProbeOptions: Sendable, Hashable {
    /// What is sent and expected, in order; empty if a connection is enough.
    package var dialogue: [Step] = []
    /// Whether the connection is encrypted from its beginning.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    package var family = FamilyPreference()
    package var source = ProbeSource()

    /// blackbox_exporter's defaults.
    package init() {}

    /// True if the connection is encrypted at some time.
    package var mayUseTLS: Bool { self.usesTLS || self.dialogue.contains { $0.startsTLS } }

    /// One entry of `query_response`: what is expected comes before what is sent, and TLS after that.
    package struct Step: Sendable, Hashable {
        /// Lines are read until one matches; nil reads none.
        package var expect: RegularExpression?
        /// The bytes that come next; empty reads none.
        package var expectedBytes: [UInt8] = []
        /// The line that is sent, with `${1}` for what ``expect`` matched; empty sends none.
        package var send = ""
        /// Whether a TLS handshake follows.
        package var startsTLS = false
        /// Labels of `probe_expect_info`, whose values are templates as ``send`` is.
        package var labels: [Label] = []

        /// A step that does nothing.
        package init() {}
    }

    /// A label of `probe_expect_info`.
    package struct Label: Sendable, Hashable {
        package var name: String
        package var value: String

        /// A label from its parts.
        package init(name: String = "", value: String = "") {
            self.name = name
            self.value = value
        }
    }
}

/// What the prober `websocket` asks for, says and takes for a success.
package struct WebSocketProbeOptions: Sendable, Hashable {
    package var family = FamilyPreference()
    package var tls = ProbeTLSOptions()
    package var authorization: ProbeAuthorization?
    /// How an access token is asked for; nil asks for none.
    package var oauth2: OAuth2Options?
    /// Fields of the request, of `headers` and of `http_config`.
    package var secretHeaders: [SecretHeader] = []
    /// What is sent and expected, in order; empty if a WebSocket connection is enough.
    package var dialogue: [StreamProbeOptions.Step] = []

    /// blackbox_exporter's defaults.
    package init() {}

    /// The value of the header field Host; nil without one, or if a file has it.
    var hostHeader: String? {
        guard case .text(let host)? = self.secretHeaders.last(where: \.isHost)?.value else { return nil }
        return host
    }

    /// Has the server asked for a host, and for its certificate unless the module names another one.
    mutating func ask(for host: Target) {
        self.secretHeaders.removeAll(where: \.isHost)
        self.secretHeaders.append(SecretHeader(name: "Host", value: .text("\(host)")))
        if self.tls.serverName == nil { self.tls.serverName = host.host }
    }
}

extension SecretHeader {
    fileprivate var isHost: Bool { self.name.lowercased() == "host" }
}

/// How a probe gets an access token: the client credentials grant (RFC 6749 4.4).
package struct OAuth2Options: Sendable, Hashable {
    package var clientID = ""
    package var clientSecret = Secret.text("")
    package var scopes: [String] = []
    /// Where tokens are asked for; nil until it is read.
    package var tokenURL: HTTPURL?
    /// What is sent besides, by name.
    package var parameters: [String: String] = [:]
    package var tls = ProbeTLSOptions()
    package var proxy = ProxyPolicy.direct

    /// Options without a client.
    package init() {}
}

/// A header field whose value may be a secret: it goes to the first origin only, and is shown nowhere.
package struct SecretHeader: Sendable, Hashable {
    package var name: String
    package var value: Secret

    /// A field from its parts.
    package init(name: String, value: Secret) {
        self.name = name
        self.value = value
    }
}

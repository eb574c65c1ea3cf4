internal import HTTPTypes
package import TidegateCore

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

internal import TidegateCore

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

    /// The value of the header field Host; nil if there is none, or if a file has it.
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

internal import TidegateCore
internal import TidegateProbes

/// The keys of a module's `websocket`.
enum WebSocketProbeSchema {
    static let fields: [Field<WebSocketProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .section("http_config", \.self, Self.client, check: Self.checkClient),
        SecretHeaderSchema.field("headers", isReserved: Self.reserved.contains),
        .sections(
            "query_response", \.dialogue, blank: StreamProbeOptions.Step(), Self.step,
            check: StreamProbeSchema.checkLabels),
    ]

    // Prometheus' HTTP clients; of HTTP/2, redirects and proxies the handshake has none.
    private static let client: [Field<WebSocketProbeOptions>] =
        HTTPClientSchema.authorization() + [
            .section("tls_config", \.tls, ProbeTLSSchema.fields, check: ProbeTLSSchema.check),
            .value("follow_redirects", .off) { _, _ in }, .value("enable_http2", .off) { _, _ in },
            .value("enable_http3", .off) { _, _ in }, .value("proxy_from_environment", .off) { _, _ in },
            .notAvailable("proxy_url"), .notAvailable("no_proxy"), .notAvailable("proxy_connect_header"),
        ]

    private static let step: [Field<StreamProbeOptions.Step>] = [
        .value("expect", \.expect, .expectation), .value("send", \.send, .text),
        StreamProbeSchema.labels, .notAvailable("expect_bytes"), .value("starttls", \.startsTLS, .off),
    ]

    /// Fields that the handshake itself has.
    private static let reserved: Set<String> = [
        "connection", "content-length", "sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-key",
        "sec-websocket-version", "transfer-encoding", "upgrade",
    ]

    private static func checkClient(_ options: WebSocketProbeOptions, _ section: inout SectionCheck) {
        section.refuse(together: HTTPClientSchema.exclusive)
        switch options.authorization {
        case .basic(let user, let password)?:
            guard user == .text("") || password == .text("") else { return }
            section.add("basic_auth needs a username and a password")
        case .token(_, .text(let token))?:
            guard token.allSatisfy(\.isWhitespace) else { return }
            section.add("the token is empty")
        case .token(_, .file)?, nil: break
        }
    }
}

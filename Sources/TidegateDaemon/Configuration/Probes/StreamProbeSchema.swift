internal import TidegateProbes

/// The keys of a module's `tcp`, `unix` and `websocket`.
enum StreamProbeSchema {
    static let tcp: [Field<StreamProbeOptions>] =
        [
            .value("preferred_ip_protocol", \.family.family, .ipProtocol),
            .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
            .value("source_ip_address", \.source.address, .sourceAddress),
            .value("source_interface", \.source.interface, .interface),
        ] + Self.stream

    /// The keys that do not depend on how the server is reached.
    static let stream: [Field<StreamProbeOptions>] = [
        .sections("query_response", \.dialogue, blank: StreamProbeOptions.Step(), Self.step, check: Self.checkLabels),
        .value("tls", \.usesTLS, .boolean),
        .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
    ]

    private static let step: [Field<StreamProbeOptions.Step>] = [
        .value("expect", \.expect, .expectation), .value("expect_bytes", .text) { $0.expectedBytes = Array($1.utf8) },
        .value("send", \.send, .text), .value("starttls", \.startsTLS, .boolean),
        Self.labels,
    ]

    /// The labels made from `probe_expect_info`.
    private static let labels = Field<StreamProbeOptions.Step>.sections(
        "labels", \.labels, blank: StreamProbeOptions.Label(),
        [
            .value("name", \.name, .text, isRequired: true), .value("value", \.value, .text),
        ])

    /// A path is not a name that a certificate could be valid for.
    static func checkUnix(_ options: StreamProbeOptions, _ section: inout SectionCheck) {
        guard options.mayUseTLS, options.tls.serverName == nil, !options.tls.isInsecure else { return }
        section.add("TLS needs tls_config.server_name or insecure_skip_verify: a path is not a name")
    }

    /// A metric must have the same labels in all its series.
    private static func checkLabels(_ steps: [StreamProbeOptions.Step], _ list: inout SectionCheck) {
        var hasLabels = false
        for (step, node) in zip(steps, list.node.elements) where !step.labels.isEmpty {
            if hasLabels { list.add("labels may stand in one entry of query_response only", at: node) }
            hasLabels = true
            if step.expect == nil { list.add("labels need an expect in the same entry", at: node) }
            let names = step.labels.map(\.name)
            if Set(names).count < names.count { list.add("labels have a name twice", at: node) }
            for name in names where !name.isLabelName {
                list.add("\"\(name)\" is not the name of a label", at: node)
            }
        }
    }

    // MARK: WebSocket

    /// The keys of a module's `websocket`.
    static let webSocket: [Field<WebSocketProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .section("http_config", \.self, Self.handshake, check: Self.checkClient),
        HTTPClientSchema.secretHeaders("headers", isReserved: Self.reserved.contains),
        .sections(
            "query_response", \.dialogue, blank: StreamProbeOptions.Step(), Self.message,
            check: Self.checkLabels),
    ]

    // The keys of Prometheus' HTTP clients; the handshake has no HTTP/2, redirects or proxies.
    private static let handshake: [Field<WebSocketProbeOptions>] =
        HTTPClientSchema.authorization() + [
            .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
            .value("follow_redirects", .off) { _, _ in }, .value("enable_http2", .off) { _, _ in },
            .value("enable_http3", .off) { _, _ in }, .value("proxy_from_environment", .off) { _, _ in },
            .notAvailable("proxy_url"), .notAvailable("no_proxy"), .notAvailable("proxy_connect_header"),
        ]

    private static let message: [Field<StreamProbeOptions.Step>] = [
        .value("expect", \.expect, .expectation), .value("send", \.send, .text),
        Self.labels, .notAvailable("expect_bytes"), .value("starttls", \.startsTLS, .off),
    ]

    /// Fields that the handshake sets.
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

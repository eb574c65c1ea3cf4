internal import FoundationEssentials
internal import HTTPTypes
internal import Tidegate
internal import TidegateProbes

/// The keys of a module's `http`, with those of Prometheus' HTTP clients.
enum HTTPProbeSchema {
    static let fields: [Field<HTTPProbeOptions>] = Self.request + Self.conditions + Self.client

    private static let request: [Field<HTTPProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        .value("skip_resolve_phase_with_proxy", \.skipsResolveWithProxy, .boolean),
        .value("no_follow_redirects", .boolean) { $0.followsRedirects = !$1 },
        .value("follow_redirects", \.followsRedirects, .boolean),
        .value("enable_http2", \.allowsHTTP2, .boolean),
        .value("method", \.method, .method),
        .headers("headers") { options, field in options.headers.append(field) },
        .value("body", .text) { $0.body = .text($1) }, .value("body_file", .path) { $0.body = .file($1) },
        .value("compression", \.coding, .bodyCoding),
        .value("body_size_limit", \.maxBodyBytes, .base2Bytes),
    ]

    private static let conditions: [Field<HTTPProbeOptions>] = [
        .value("accept_any_response", \.acceptsAnyStatus, .boolean),
        .list("valid_status_codes", \.validStatuses, .number(in: 100...999)),
        .list("valid_http_versions", \.validVersions, .text),
        .value("fail_if_ssl", \.failsIfTLS, .boolean), .value("fail_if_not_ssl", \.failsIfNotTLS, .boolean),
        .list("fail_if_body_matches_regexp", \.failsIfBodyMatches, .pattern),
        .list("fail_if_body_not_matches_regexp", \.failsIfBodyDoesNotMatch, .pattern),
        .list("fail_if_header_matches", \.failsIfHeaderMatches, .headerCondition),
        .list("fail_if_header_not_matches", \.failsIfHeaderDoesNotMatch, .headerCondition),
        .value("fail_if_body_json_matches_cel", \.failsIfJSONMatches, .expression),
        .value("fail_if_body_json_not_matches_cel", \.failsIfJSONDoesNotMatch, .expression),
    ]

    private static let client: [Field<HTTPProbeOptions>] =
        HTTPClientSchema.authorization() + [
            .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
            .value("proxy_url", \.proxy.both, ValueParser<String>.proxy),
            .value("no_proxy", .text) { $0.proxy.exceptions = ProxyPolicy.exceptions($1) },
            // Read with the file: a later reload sees the environment that the process has.
            .value("proxy_from_environment", .boolean) { options, isWanted in
                if isWanted { options.proxy = ProxyPolicy(environment: ProcessInfo.processInfo.environment) }
            },
            HTTPClientSchema.proxyField, .notAvailable("enable_http3"),
        ]

    /// Keys that exclude each other.
    static func check(_ options: HTTPProbeOptions, _ section: inout SectionCheck) {
        for keys in [
            ["body", "body_file"], HTTPClientSchema.exclusive,
            ["no_follow_redirects", "follow_redirects"], ["proxy_url", "proxy_from_environment"],
            ["no_proxy", "proxy_from_environment"],
        ] {
            section.refuse(together: keys)
        }
        guard let coding = options.coding,
            let accepted = options.headers.last(where: { $0.name == .acceptEncoding })?.value,
            !self.accepts(coding.rawValue, in: accepted)
        else { return }
        section.add("Accept-Encoding \"\(accepted)\" does not accept the compression \(coding.rawValue)")
    }

    // The codings of Accept-Encoding have weights; one that is not named has that of "*".
    private static func accepts(_ coding: String, in field: String) -> Bool {
        let weights = field.split(separator: ",").reduce(into: [String: Double]()) { weights, part in
            let fields = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = fields.first else { return }
            let weight = fields.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            weights[name] = weight ?? 1
        }
        return (weights[coding] ?? weights["*"] ?? 0) > 0
    }
}

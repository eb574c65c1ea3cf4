internal import Glibc
internal import HTTPTypes
internal import TidegateCore
internal import TidegateProbes

/// Something that Tidegate does differently than blackbox_exporter: a row of the table in docs/probes.md.
struct ProbeDifference: Sendable {
    /// What differs, what blackbox_exporter does and what Tidegate does, in Markdown.
    let cells: [String]
    /// The keys of a module that decide whether the row applies; empty if the target, the network or the endpoint does.
    ///
    /// They are patterns (fnmatch(3)) such as `*.oauth2`, or keys with a value such as `prober=icmp`.
    let keys: [String]
    /// What else has to be true of a module with one of the keys; nil if nothing.
    let condition: Condition?

    /// Parses the cells, and after them the keys and the name of the condition.
    private init(row: Substring) {
        let parts = row.split(separator: " | ").map(String.init)
        self.cells = Array(parts.prefix(3))
        self.keys = parts.dropFirst(3).first?.split(separator: " ").map(String.init) ?? []
        self.condition = parts.dropFirst(4).first.flatMap(Condition.init)
    }

    /// True if the row applies to modules with this key.
    func isDecided(by key: ModuleKey) -> Bool {
        let value = key.entry.value.text ?? ""
        let given = "\(key.path)=\(ValueParser<Bool>.truth(of: value).map { "\($0)" } ?? value)"
        return self.keys.contains { fnmatch($0, key.path, 0) == 0 || $0 == given } && key.meets(self.condition)
    }

    /// The rows of the table, in its order.
    static let all = """
        address family of a name with both | the preferred one (by default IPv6), routed or not | the preferred one if \
        it is routed, else the other one, unless `ip_protocol_fallback` is false | *.preferred_ip_protocol | fallsBack
        `preferred_ip_protocol` with another word than ip4, ipv4 and ip6 | means IPv4, even `ipv6` | refused | \
        *.preferred_ip_protocol | isRefused
        more than one document in a file | the first one is read | refused
        a target whose path is lost | asked until the timeout | fails immediately, with `probe_gated` 1
        how the last reload went | `blackbox_exporter_config_last_reload_successful`, `…_success_timestamp_seconds` | \
        `tidegate_config_last_reload_successful`, `…_success_timestamp_seconds`
        probes by unknown modules | `blackbox_module_unknown_total` | \
        `tidegate_http_requests_total{handler="probe",code="400"}`, with those without a target
        POST `/-/reload` | 200 without a body | 200, with the changed keys that need a restart
        User-Agent | `Blackbox Exporter/VERSION` | `Tidegate/VERSION`
        Accept-Encoding with `compression` | only from `headers` | the compression, unless `headers` have one | \
        http.compression | addsAcceptEncoding
        redirects of a public server to private addresses | followed | refused unless \
        `probe_targets.allow_private_redirects` is true | http.*follow_redirects | followsRedirects
        fields after a redirect to another origin | all but Authorization and Cookie | no secrets | http.*headers.* | \
        losesField
        credentials after a redirect to another origin | Basic, tokens and client certificates are sent | none | \
        http.basic_auth http.authorization http.bearer_token* http.oauth2 http.tls_config.cert* | followsRedirects
        who can have credentials sent | every client that reaches the exporter | Prometheus, authenticated clients, \
        local programs; others get 403 | *.basic_auth *.authorization *.bearer_token* *.oauth2 *.tls_config.cert* \
        *headers.* grpc.metadata | isCredential
        probes of its own port | all are sent | neither credentials nor POST, PUT, PATCH and DELETE
        a body that a regular expression or CEL examines | read whole | 16 MiB, or `body_size_limit` | \
        http.fail_if_body_* | hasNoSizeLimit
        memory for the bodies of all probes | as much as they take | `probe_body_budget`; a probe that finds none \
        waits, and fails with `no_memory` at its timeout or if its body alone is larger
        a run on a schedule that fails on this host, for example with `no_memory` | does not exist | inconclusive
        a JSON body for an expression of CEL | decoded whole, any number at a time | at most 250,000 values and names \
        of members, one document at a time | http.fail_if_body_json_*
        memory for a JSON body | not limited | the body, and half as much again while it grows; while it is decoded at \
        most twice the body and 64 bytes for each value and name, and then the copy for CEL
        an expression of CEL | ends with the probe's time | also ends after ten million steps | http.fail_if_body_json_*
        time zones by name in CEL | known | `UTC` and offsets such as `+02:00` | http.fail_if_body_json_* | hasTimeZone
        a space in the query of a target | sent unescaped, which breaks the request line | `%20`, as in a path
        a status line with two spaces (`HTTP/1.1  200`) | taken | fails with `protocol_error`
        a server that answers 101 and keeps the connection | keeps the probe beyond its timeout | ends at the timeout
        the answer of an `oauth2` server | read whole | 64 KiB | *.oauth2
        the proxy connects to | the target's address, unless `skip_resolve_phase_with_proxy` is true | the target's \
        name | http.proxy_url http.proxy_from_environment=true | resolvesForProxy
        `server_name`, or the field Host, behind an https proxy | has to be in the proxy's certificate, too | is for \
        the target's only | http.tls_config.server_name http.headers.host | hasSecureProxy
        the port in a field Host | is looked for in the certificate | does not count | http.headers.host | hasPort
        `source_ip_address` of `http` | refused | taken | http.source_ip_address
        `proxy_url` without a port | that of the scheme | refused | http.*proxy_url | isRefused
        `enable_http3` of `http` | HTTP/3 if it is true | refused | http.enable_http3 | isRefused
        `grant_type`, `proxy_from_environment` and `proxy_connect_header` of `oauth2` | taken | refused | \
        *.oauth2.grant_type *.oauth2.proxy_* | isRefused
        keys that name a secret of a manager, such as `password_ref` | fail every probe | refused | *_ref | isRefused
        phase `rtt` of a lost echo request | 0, which distorts averages | left out | prober=icmp
        `dont_fragment` | needs CAP_NET_RAW | does not | icmp.dont_fragment=true
        unknown response codes, `dns_over_tls` over UDP | fail every probe | refused | dns.valid_rcodes \
        dns.dns_over_tls | isRefused
        a forged datagram before a name server's own | may fail the probe | ignored
        an address of the other family than `source_ip_address` | fails on sending | is not taken | \
        tcp.source_ip_address dns.source_ip_address icmp.source_ip_address
        a `tcp` or `unix` server of TLS 1.3 that refuses `cert_file`, where nothing is expected | a success | \
        `tls_failed`; the end of the connection is waited for, a second at most | *.tls_config.cert* | expectsNothing
        phases of `tcp` and `unix` | not measured | `probe_tcp_duration_seconds` and `probe_unix_duration_seconds` by \
        phase (resolve, connect, tls, query)
        `expect_bytes` after `expect` | what came with the line is lost | it is kept | *.expect_bytes | followsExpect
        a port by name (`host:smtp`) | looked up | refused
        the timeout of `grpc` | not kept if the server is silent | kept, and sent as `grpc-timeout` | prober=grpc
        where `grpc` connects to | the name is resolved again | the chosen address, under the name | prober=grpc
        `grpc` over TLS without status 0 | `probe_grpc_ssl` 0, no certificate | 1, with the certificate | grpc.tls=true
        `grpc` over TLS to a server without HTTP/2 in ALPN | called by older versions | fails | grpc.tls=true
        `prober: grpc` without a block `grpc` | no fallback to the other family | as if empty | prober=grpc | hasNoBlock
        `http_headers` and `oauth2` of `websocket` | without effect | sent | websocket.*.http_headers websocket.*.oauth2
        a `websocket` server that asks for an extension, breaks the protocol or sends a message of more than 1 MiB | \
        may pass | fails with `protocol_error` or `too_large` | prober=websocket
        the end of a `websocket` probe | has no close frame | has one, and a second for its answer | prober=websocket
        the TLS handshake of `websocket` | within another phase | phase `tls` | prober=websocket
        `expect_bytes`, `starttls` and keys about proxies, redirects and HTTP versions of `websocket` | without effect \
        | refused | websocket.*_bytes websocket.*starttls websocket.*redirects websocket.*http? websocket.*prox* | \
        isRefused
        `labels` in the `query_response` of `websocket` | without effect | `probe_expect_info` | websocket.*.labels
        the parameter `hostname` with `websocket` | without effect | the field Host, and the name in the certificate
        """.split(separator: "\n").map(Self.init)
}

extension ProbeDifference {
    /// A condition on a key and its module.
    enum Condition: String, CaseIterable {
        case isRefused, fallsBack, hasNoBlock, isCredential, followsRedirects, losesField, addsAcceptEncoding
        case hasNoSizeLimit, hasTimeZone, resolvesForProxy, hasSecureProxy, hasPort, followsExpect, expectsNothing
    }
}

/// A key that a module sets.
struct ModuleKey {
    let module: ProbeModule
    /// The key with its sections below the module.
    let path: String
    let entry: ConfigurationNode.Entry
    /// The section with the key.
    let section: ConfigurationNode
    /// The position of that section in its list, from 1; 0 if it is in none.
    let position: Int

    /// The keys of a section of a module, and those below them.
    static func all(
        in section: ConfigurationNode, of module: ProbeModule, below path: String = "", position: Int = 0
    ) -> [ModuleKey] {
        let areFields = path.hasSuffix("headers.")
        // The blocks of other probers have no effect.
        let entries = section.entries.filter { !path.isEmpty || ["prober", module.prober.name].contains($0.key) }
        return entries.flatMap { entry in
            let inner = path + (areFields ? entry.key.lowercased() : entry.key)
            let own = ModuleKey(module: module, path: inner, entry: entry, section: section, position: position)
            let below = areFields ? [] : [entry.value] + entry.value.elements
            return [own]
                + below.enumerated().flatMap { Self.all(in: $1, of: module, below: "\(inner).", position: $0) }
        }
    }

    /// True if the condition is nil or holds; `isRefused` needs the problems of the configuration.
    func meets(_ condition: ProbeDifference.Condition?) -> Bool {
        switch (condition, self.module.prober) {
        case (nil, _), (.isRefused, _): true
        case (.fallsBack, _):
            self.section.value(of: "ip_protocol_fallback")?.text.flatMap { ValueParser<Bool>.truth(of: $0) } != false
        case (.hasNoBlock, _): self.section.value(of: self.module.prober.name)?.isGiven != true
        // True of every key but the names of header fields that are no secret.
        case (.isCredential, _): self.module.prober.name != "unix" && SecretHeader.mayBeSecret(self.entry.key)
        case (_, .http(let options)): self.meets(condition, options)
        case (.expectsNothing, .tcp(let options)), (.expectsNothing, .unix(let options)): options.ignoresRefusal
        case (.followsExpect, .tcp(let options)), (.followsExpect, .unix(let options)):
            options.dialogue.prefix(self.position).contains { $0.expect != nil }
        default: false
        }
    }

    private func meets(_ condition: ProbeDifference.Condition?, _ options: HTTPProbeOptions) -> Bool {
        switch condition {
        case .followsRedirects: options.followsRedirects
        case .losesField:
            options.followsRedirects && SecretHeader.mayBeSecret(self.entry.key)
                && !self.path.hasSuffix(".authorization") && !self.path.hasSuffix(".cookie")
        case .addsAcceptEncoding:
            options.coding != .identity && !options.headers.contains { $0.name == .acceptEncoding }
        case .hasNoSizeLimit: options.maxBodyBytes == nil
        case .hasTimeZone: self.entry.value.text?.contains(/\.get[A-Za-z]+\(\s*["'](?!(UTC|Z)["'])[A-Za-z]/) == true
        case .resolvesForProxy: !options.skipsResolveWithProxy
        case .hasSecureProxy: options.proxy.both?.lowercased().hasPrefix("https:") == true
        case .hasPort: self.entry.value.text.flatMap { try? Target($0) }?.port != nil
        default: false
        }
    }
}

extension ConfigurationNode {
    /// A scalar as written; nil for anything else.
    fileprivate var text: String? { if case .scalar(let text) = self.content { text } else { nil } }
}

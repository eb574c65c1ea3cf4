internal import TidegateCore
internal import TidegateProbes

/// The YAML text of a configuration or a part of one as written, without its secrets.
struct ConfigurationText {
    /// The keys whose values are shown; nil for all without a secret.
    private let shown: Set<String>?

    /// The keys whose values may leave this machine: numbers, times, switches, names, hosts and URLs.
    static let openKeys = Set(
        """
        active allow allow_missing allow_private_redirects attempts base body_size_limit buffer burst cap cert_status check
        cipher_suites client_auth_type compressed compression conditional connect_cost connecting_interval connections cookies
        curve_preferences deny dns_over_tls dont_fragment enable_http2 enabled established_interval every exclude fail_if_not_ssl
        fail_if_ssl follow_redirects history host host_label hosts http2 insecure insecure_skip_verify interfaces interval
        ip_protocol_fallback ipv4 ipv6 jitter keep_completed loopback mark max_connections max_connections_per_host max_elapsed
        max_filesize max_hosts max_open_tasks max_tracked max_version method min_version mode module name no_follow_redirects
        no_proxy objective path_events patience payload_size port ports prefer_server_cipher_suites preferred_ip_protocol
        probe_body_budget prober proxy proxy_url query query_class query_name query_type receive_buffer recursion_desired redirects
        refill_per_second remotes require retry_cost server_name skip_resolve_phase_with_proxy source_interface source_ip_address
        starttls statuses target timeout tls token_url tokens tracing transport_protocol ttl udp uid url urls userinfo
        valid_http_versions valid_rcodes valid_status_codes validate_host_name
        """.split(whereSeparator: \.isWhitespace).map(String.init))

    static func text(of node: ConfigurationNode, showing keys: Set<String>? = nil) -> String {
        let text = ConfigurationText(shown: keys)
        // A file may have a text instead of keys.
        guard text.shows(ConfigurationNode.Entry(key: "", line: 1, value: node)) else { return "<set>\n" }
        return text.lines(of: node).joined(separator: "\n") + "\n"
    }

    private func lines(of node: ConfigurationNode) -> [String] {
        switch node.content {
        case .null: return ["null"]
        case .scalar(let text): return [self.scalar(self.redacted(text))]
        case .list(let nodes):
            guard !nodes.isEmpty else { return ["[]"] }
            return nodes.flatMap { node in
                self.lines(of: node).enumerated().map { ($0 == 0 ? "- " : "  ") + $1 }
            }
        case .section(let entries):
            guard !entries.isEmpty else { return ["{}"] }
            return entries.flatMap { entry in self.lines(of: entry) }
        }
    }

    private func lines(of entry: ConfigurationNode.Entry) -> [String] {
        let key = self.scalar(entry.key)
        guard !Secrets.keys.contains(entry.key) else { return ["\(key): <secret>"] }
        guard self.shows(entry) else { return ["\(key): <set>"] }
        if ["proxy", "proxy_url"].contains(entry.key), case .scalar(let text) = entry.value.content {
            return ["\(key): \((try? Proxy(text)).map { "\($0)" } ?? "<secret>")"]
        }
        if ["headers", "http_headers"].contains(entry.key), case .section(let fields) = entry.value.content,
            !fields.isEmpty
        {
            return ["\(key):"]
                + fields.flatMap { field in
                    guard SecretHeader.mayBeSecret(field.key) else { return self.lines(of: field).map { "  \($0)" } }
                    return ["  \(self.scalar(field.key)): <secret>"]
                }
        }
        switch entry.value.content {
        case .null: return ["\(key): null"]
        case .scalar(let text):
            return ["\(key): \(self.scalar(entry.key == "target" ? self.redactedTarget(text) : self.redacted(text)))"]
        case .list(let nodes) where nodes.isEmpty: return ["\(key): []"]
        case .section(let entries) where entries.isEmpty: return ["\(key): {}"]
        case .list, .section: return ["\(key):"] + self.lines(of: entry.value).map { "  \($0)" }
        }
    }

    // Sections are shown for the keys in them, unless their keys are names that the user chose.
    private func shows(_ entry: ConfigurationNode.Entry) -> Bool {
        guard let shown = self.shown, !shown.contains(entry.key) else { return true }
        switch entry.value.content {
        case .null: return true
        case .scalar: return false
        case .list(let nodes): return nodes.allSatisfy { if case .section = $0.content { true } else { false } }
        case .section: return !["headers", "http_headers", "labels", "pins"].contains(entry.key)
        }
    }

    private func redacted(_ text: String) -> String {
        guard text.contains("://") else { return text }
        return self.shown == nil ? Secrets.url(text) : URLRedaction.withOrigins(text)
    }

    private func redactedTarget(_ text: String) -> String {
        self.shown == nil ? Secrets.target(text) : URLRedaction.toOrigin.target(from: text)
    }

    // Quoted as in JSON, unless nothing in the text has a meaning in YAML.
    private func scalar(_ text: String) -> String {
        text.isWord(with: "./_") && !text.isEmpty ? text : JSONValue.string(text).description
    }
}

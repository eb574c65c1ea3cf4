/// A metric that probes return: those of blackbox_exporter with its help texts, and a few additional ones.
struct ProbeMetric: Sendable {
    let name: String
    let help: String
    let labels: [String]

    private init(_ name: String, _ help: String, labels: [String] = []) {
        (self.name, self.help, self.labels) = (name, help, labels)
    }

    // MARK: Every probe

    static let success = Self("probe_success", "Displays whether or not the probe was a success")
    static let duration = Self("probe_duration_seconds", "Returns how long the probe took to complete in seconds")
    static let timeout = Self("probe_timeout_seconds", "Returns how long the probe was allowed to take in seconds")
    static let lookupTime = Self(
        "probe_dns_lookup_time_seconds", "Returns the time taken for probe dns lookup in seconds")
    static let addressFamily = Self("probe_ip_protocol", "Specifies whether probe ip protocol is IP4 or IP6")
    static let addressHash = Self(
        "probe_ip_addr_hash", "Specifies the hash of IP address. It's useful to detect if the IP address changes.")
    static let gated = Self(
        "probe_gated",
        "1 if this host had no path to the target or lost it: the result says nothing about the target.")
    static let failure = Self(
        "probe_failure_info", "Why the probe failed, and the responsible party.", labels: ["reason", "party"])
    static let failedDueToRegex = Self("probe_failed_due_to_regex", "Indicates if probe failed due to regex")
    static let failedDueToCEL = Self(
        "probe_failed_due_to_cel", "Indicates if probe failed due to CEL expression not matching")

    // MARK: HTTP

    static let httpDuration = Self(
        "probe_http_duration_seconds", "Duration of http request by phase, summed over all redirects", labels: ["phase"]
    )
    static let httpContentLength = Self("probe_http_content_length", "Length of http content response")
    static let httpBodyLength = Self("probe_http_uncompressed_body_length", "Length of uncompressed response body")
    static let httpRedirects = Self("probe_http_redirects", "The number of redirects")
    static let httpTLS = Self("probe_http_ssl", "Indicates if SSL was used for the final redirect")
    static let httpStatus = Self("probe_http_status_code", "Response HTTP status code")
    static let httpVersion = Self("probe_http_version", "Returns the version of HTTP of the probe response")
    static let httpLastModified = Self(
        "probe_http_last_modified_timestamp_seconds", "Returns the Last-Modified HTTP response header in unixtime")

    // MARK: ICMP

    static let icmpDuration = Self(
        "probe_icmp_duration_seconds", "Duration of icmp request by phase", labels: ["phase"])
    static let icmpHopLimit = Self("probe_icmp_reply_hop_limit", "Replied packet hop limit (TTL for ipv4)")

    // MARK: DNS

    static let dnsDuration = Self("probe_dns_duration_seconds", "Duration of DNS request by phase", labels: ["phase"])
    static let dnsAnswers = Self("probe_dns_answer_rrs", "Returns number of entries in the answer resource record list")
    static let dnsAuthorities = Self(
        "probe_dns_authority_rrs", "Returns number of entries in the authority resource record list")
    static let dnsAdditionals = Self(
        "probe_dns_additional_rrs", "Returns number of entries in the additional resource record list")
    static let dnsSucceeded = Self(
        "probe_dns_query_succeeded", "Displays whether or not the query was executed successfully")
    static let dnsSerial = Self("probe_dns_serial", "Returns the serial number of the zone")

    // MARK: TCP and Unix sockets

    static let tcpDuration = Self("probe_tcp_duration_seconds", "Duration of the TCP probe by phase", labels: ["phase"])
    static let unixDuration = Self(
        "probe_unix_duration_seconds", "Duration of the probe of a Unix socket by phase", labels: ["phase"])
    static let failedDueToBytes = Self("probe_failed_due_to_bytes", "Indicates if probe failed due to bytes")

    /// Its labels come from the module.
    static func expectInfo(_ labels: [String]) -> ProbeMetric {
        Self("probe_expect_info", "Explicit content matched", labels: labels)
    }

    // MARK: gRPC

    static let grpcDuration = Self(
        "probe_grpc_duration_seconds", "Duration of gRPC request by phase", labels: ["phase"])
    static let grpcTLS = Self("probe_grpc_ssl", "Indicates if SSL was used for the connection")
    static let grpcStatus = Self("probe_grpc_status_code", "Response gRPC status code")
    static let grpcHealth = Self(
        "probe_grpc_healthcheck_response", "Response HealthCheck response", labels: ["serving_status"])

    // MARK: WebSocket

    static let webSocketDuration = Self(
        "probe_websocket_duration_seconds", "Duration of websocket request by phase", labels: ["phase"])
    static let webSocketStatus = Self("probe_websocket_status_code", "Response HTTP status code")
    static let webSocketUpgraded = Self(
        "probe_websocket_connection_upgraded", "Indicates if the websocket connection was successfully upgraded")
    static let webSocketFailedDueToRegex = Self(
        "probe_websocket_failed_due_to_regex", "Indicates if probe failed due to regex")

    // MARK: TLS

    static let earliestExpiry = Self("probe_ssl_earliest_cert_expiry", "Returns last SSL chain expiry in unixtime")
    static let chainExpiry = Self(
        "probe_ssl_last_chain_expiry_timestamp_seconds", "Returns last SSL chain expiry in timestamp")
    static let chainInfo = Self(
        "probe_ssl_last_chain_info", "Contains SSL leaf certificate information",
        labels: ["fingerprint_sha256", "subject", "issuer", "subjectalternative", "serialnumber"])
    static let tlsVersion = Self(
        "probe_tls_version_info", "Returns the TLS version used or NaN when unknown", labels: ["version"])
    static let tlsCipher = Self(
        "probe_tls_cipher_info", "Returns the TLS cipher negotiated during handshake", labels: ["cipher"])
}

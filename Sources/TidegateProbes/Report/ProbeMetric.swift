/// A metric that probes return: blackbox_exporter's, with its help texts, and a few of our own.
struct ProbeMetric: Sendable {
    let name: String
    let help: String
    var labels: [String] = []

    // MARK: Every probe

    static let success = ProbeMetric(
        name: "probe_success", help: "Displays whether or not the probe was a success")
    static let duration = ProbeMetric(
        name: "probe_duration_seconds", help: "Returns how long the probe took to complete in seconds")
    static let timeout = ProbeMetric(
        name: "probe_timeout_seconds", help: "Returns how long the probe was allowed to take in seconds")
    static let lookupTime = ProbeMetric(
        name: "probe_dns_lookup_time_seconds", help: "Returns the time taken for probe dns lookup in seconds")
    static let addressFamily = ProbeMetric(
        name: "probe_ip_protocol", help: "Specifies whether probe ip protocol is IP4 or IP6")
    static let addressHash = ProbeMetric(
        name: "probe_ip_addr_hash",
        help: "Specifies the hash of IP address. It's useful to detect if the IP address changes.")
    static let gated = ProbeMetric(
        name: "probe_gated",
        help: "1 if this host had no path to the target, or lost it meanwhile: the probe says nothing of the target.")
    static let failure = ProbeMetric(
        name: "probe_failure_info", help: "Why the probe failed, and whose failure it was.",
        labels: ["reason", "party"])
    static let failedDueToRegex = ProbeMetric(
        name: "probe_failed_due_to_regex", help: "Indicates if probe failed due to regex")
    static let failedDueToCEL = ProbeMetric(
        name: "probe_failed_due_to_cel", help: "Indicates if probe failed due to CEL expression not matching")

    // MARK: HTTP

    static let httpDuration = ProbeMetric(
        name: "probe_http_duration_seconds", help: "Duration of http request by phase, summed over all redirects",
        labels: ["phase"])
    static let httpContentLength = ProbeMetric(
        name: "probe_http_content_length", help: "Length of http content response")
    static let httpBodyLength = ProbeMetric(
        name: "probe_http_uncompressed_body_length", help: "Length of uncompressed response body")
    static let httpRedirects = ProbeMetric(name: "probe_http_redirects", help: "The number of redirects")
    static let httpTLS = ProbeMetric(
        name: "probe_http_ssl", help: "Indicates if SSL was used for the final redirect")
    static let httpStatus = ProbeMetric(name: "probe_http_status_code", help: "Response HTTP status code")
    static let httpVersion = ProbeMetric(
        name: "probe_http_version", help: "Returns the version of HTTP of the probe response")
    static let httpLastModified = ProbeMetric(
        name: "probe_http_last_modified_timestamp_seconds",
        help: "Returns the Last-Modified HTTP response header in unixtime")

    // MARK: ICMP

    static let icmpDuration = ProbeMetric(
        name: "probe_icmp_duration_seconds", help: "Duration of icmp request by phase", labels: ["phase"])
    static let icmpHopLimit = ProbeMetric(
        name: "probe_icmp_reply_hop_limit", help: "Replied packet hop limit (TTL for ipv4)")

    // MARK: DNS

    static let dnsDuration = ProbeMetric(
        name: "probe_dns_duration_seconds", help: "Duration of DNS request by phase", labels: ["phase"])
    static let dnsAnswers = ProbeMetric(
        name: "probe_dns_answer_rrs", help: "Returns number of entries in the answer resource record list")
    static let dnsAuthorities = ProbeMetric(
        name: "probe_dns_authority_rrs", help: "Returns number of entries in the authority resource record list")
    static let dnsAdditionals = ProbeMetric(
        name: "probe_dns_additional_rrs", help: "Returns number of entries in the additional resource record list")
    static let dnsSucceeded = ProbeMetric(
        name: "probe_dns_query_succeeded", help: "Displays whether or not the query was executed successfully")
    static let dnsSerial = ProbeMetric(name: "probe_dns_serial", help: "Returns the serial number of the zone")

    // MARK: TCP and Unix sockets

    static let tcpDuration = ProbeMetric(
        name: "probe_tcp_duration_seconds", help: "Duration of the TCP probe by phase", labels: ["phase"])
    static let unixDuration = ProbeMetric(
        name: "probe_unix_duration_seconds", help: "Duration of the probe of a Unix socket by phase", labels: ["phase"])
    static let failedDueToBytes = ProbeMetric(
        name: "probe_failed_due_to_bytes", help: "Indicates if probe failed due to bytes")

    /// Its labels are the module's.
    static func expectInfo(_ labels: [String]) -> ProbeMetric {
        ProbeMetric(name: "probe_expect_info", help: "Explicit content matched", labels: labels)
    }

    // MARK: gRPC

    static let grpcDuration = ProbeMetric(
        name: "probe_grpc_duration_seconds", help: "Duration of gRPC request by phase", labels: ["phase"])
    static let grpcTLS = ProbeMetric(name: "probe_grpc_ssl", help: "Indicates if SSL was used for the connection")
    static let grpcStatus = ProbeMetric(name: "probe_grpc_status_code", help: "Response gRPC status code")
    static let grpcHealth = ProbeMetric(
        name: "probe_grpc_healthcheck_response", help: "Response HealthCheck response", labels: ["serving_status"])

    // MARK: WebSocket

    static let webSocketDuration = ProbeMetric(
        name: "probe_websocket_duration_seconds", help: "Duration of websocket request by phase", labels: ["phase"])
    static let webSocketStatus = ProbeMetric(name: "probe_websocket_status_code", help: "Response HTTP status code")
    static let webSocketUpgraded = ProbeMetric(
        name: "probe_websocket_connection_upgraded",
        help: "Indicates if the websocket connection was successfully upgraded")
    static let webSocketFailedDueToRegex = ProbeMetric(
        name: "probe_websocket_failed_due_to_regex", help: "Indicates if probe failed due to regex")

    // MARK: TLS

    static let earliestExpiry = ProbeMetric(
        name: "probe_ssl_earliest_cert_expiry", help: "Returns last SSL chain expiry in unixtime")
    static let chainExpiry = ProbeMetric(
        name: "probe_ssl_last_chain_expiry_timestamp_seconds", help: "Returns last SSL chain expiry in timestamp")
    static let chainInfo = ProbeMetric(
        name: "probe_ssl_last_chain_info", help: "Contains SSL leaf certificate information",
        labels: ["fingerprint_sha256", "subject", "issuer", "subjectalternative", "serialnumber"])
    static let tlsVersion = ProbeMetric(
        name: "probe_tls_version_info", help: "Returns the TLS version used or NaN when unknown", labels: ["version"])
    static let tlsCipher = ProbeMetric(
        name: "probe_tls_cipher_info", help: "Returns the TLS cipher negotiated during handshake", labels: ["cipher"])
}

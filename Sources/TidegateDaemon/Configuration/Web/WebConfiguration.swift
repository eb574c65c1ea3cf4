internal import HTTPTypes
internal import TidegateServer

/// The file of `--web.config.file`; absent keys have their defaults.
struct WebConfiguration: Sendable, Hashable {
    var tls = TLS()
    var http = HTTP()
    var users = UserTable()
    var rate = Rate()

    /// The `tls_server_config` section.
    struct TLS: Sendable, Hashable {
        var certificate: String?
        var certificateFile: String?
        var key: String?
        var keyFile: String?
        var clientAuthorities: String?
        var clientAuthoritiesFile: String?
        /// What is left of the settings without certificates and keys.
        var serving = TLSServerConfiguration()
        /// Ignored, as in Go: suites of equal strength are in the server's order.
        var prefersOwnSuites: Bool?
    }

    /// The `http_server_config` section.
    struct HTTP: Sendable, Hashable {
        /// Ignored: the server speaks HTTP/1.1 only.
        var http2: Bool?
        var headers: [HTTPField] = []
    }

    /// The `rate_limit` section.
    struct Rate: Sendable, Hashable {
        var interval: Duration?
        var burst: Int?

        /// The limit; nil without one.
        var limit: RateLimit? {
            guard let interval = self.interval, interval > .zero else { return nil }
            return RateLimit(interval: interval, burst: self.burst ?? 0)
        }
    }
}

extension WebConfiguration {
    /// What is set that has no effect here, a sentence for each key; other exporters may use the same file.
    var keysWithoutEffect: [String] {
        var sentences: [String] = []
        if self.http.http2 == true {
            sentences.append("http_server_config.http2 has no effect: the endpoint speaks HTTP/1.1 only")
        }
        if self.tls.prefersOwnSuites != nil {
            sentences.append(
                "tls_server_config.prefer_server_cipher_suites has no effect: suites are in the server's order")
        }
        let fixed = self.tls.serving.cipherSuites.filter { !$0.contains("_WITH_") }
        if !fixed.isEmpty {
            sentences.append(
                "tls_server_config.cipher_suites: \(fixed.joined(separator: ", ")) has no effect: the suites of TLS 1.3 "
                    + "cannot be chosen")
        }
        return sentences
    }
}

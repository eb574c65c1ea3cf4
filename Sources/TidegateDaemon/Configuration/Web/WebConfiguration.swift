internal import TidegateServer

/// What the file of `--web.config.file` says; nil and empty mean that the built-in default stands.
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
        var client: TLSServerConfiguration.ClientCertificate?
        var clientNames: [String]?
        var oldest: TLSServerConfiguration.Version?
        var newest: TLSServerConfiguration.Version?
        var suites: [CipherSuite]?
        var curves: [TLSServerConfiguration.Curve]?
        /// Read and not used, as in Go: the server's own order holds among those of equal strength.
        var prefersOwnSuites: Bool?
    }

    /// The `http_server_config` section.
    struct HTTP: Sendable, Hashable {
        /// Read and not used: clients that offer HTTP/2 are answered in HTTP/1.1.
        var http2: Bool?
        var headers: [ConfiguredHeader] = []
    }

    /// The `rate_limit` section.
    struct Rate: Sendable, Hashable {
        var interval: Duration?
        var burst: Int?

        /// The limit; nil where there is none.
        var limit: RateLimit? {
            guard let interval = self.interval, interval > .zero else { return nil }
            return RateLimit(interval: interval, burst: self.burst ?? 0)
        }
    }
}

package import TidegateCore

/// The proxies for requests, by URL.
public struct ProxyPolicy: Sendable, Hashable, Codable {
    /// The proxy for http URLs, `[SCHEME://][USER[:PASSWORD]@]HOST:PORT`; nil connects directly.
    ///
    /// The schemes are `http` (the default), `https`, `socks4a`, `socks5` and `socks5h`. With `socks5` names are looked
    /// up here, otherwise by the proxy.
    public var http: String?
    /// The proxy for https URLs, in the same form; nil connects directly.
    public var https: String?
    /// The hosts to connect to directly, in the form of curl's `no_proxy`.
    ///
    /// Each is a host, a domain with or without a leading dot (`example.com` also covers `www.example.com`), the
    /// subdomains of one (`*.example.com`), an address, a network (`192.0.2.0/24`), a host or an address with a port,
    /// or `*` for everything. A session refuses any other text.
    public var exceptions: [String]

    /// No proxy.
    public static let direct = ProxyPolicy(nil)

    /// Uses one proxy for all URLs except those of `exceptions`; nil for none.
    public init(_ proxy: String?, exceptions: [String] = []) {
        self.http = proxy
        self.https = proxy
        self.exceptions = exceptions
    }

    /// Reads the proxies of an environment like curl(1): `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`, and all
    /// but the first also in upper case.
    ///
    /// `HTTP_PROXY` is ignored: a CGI server sets it from a request's header. The library itself reads no environment.
    public init(environment: [String: String]) {
        self.init(nil)
        self.http = Self.variable(for: .http, in: environment).flatMap { environment[$0] }
        self.https = Self.variable(for: .https, in: environment).flatMap { environment[$0] }
        self.exceptions = Self.exceptions(environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
    }

    /// The exceptions in a `no_proxy` list, separated by commas or spaces.
    package static func exceptions(_ list: String) -> [String] {
        list.split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    /// The variable that names the proxy of a scheme's URLs; nil if none does.
    package static func variable(for scheme: HTTPURL.Scheme, in environment: [String: String]) -> String? {
        let own = scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        return (own + ["all_proxy", "ALL_PROXY"]).first { !(environment[$0] ?? "").isEmpty }
    }

    // MARK: - Use

    /// The proxy for a URL; nil to connect directly.
    package func proxy(for url: HTTPURL) -> Proxy? {
        guard let text = url.scheme == .https ? self.https : self.http, !self.isException(url.target) else {
            return nil
        }
        return try? Proxy(text)
    }

    /// True if a host is an exception.
    package func isException(_ target: Target) -> Bool {
        self.exceptions.contains { Self.matches($0, target) }
    }

    private static func matches(_ exception: String, _ target: Target) -> Bool {
        if exception == "*" { return true }
        if let address = target.address, exception.contains("/") {
            return (try? IPPrefix(parsing: exception))?.contains(address) ?? false
        }
        guard let own = Self.host(in: exception), own.port == nil || own.port == target.port else { return false }
        if own.address != nil || target.address != nil { return own.address == target.address }
        return target.host == own.host && !exception.hasPrefix("*") || target.host.hasSuffix(".\(own.host)")
    }

    // The host, address or domain of an exception; nil if it names none.
    private static func host(in exception: String) -> Target? {
        let prefix = ["*.", "."].first { exception.hasPrefix($0) } ?? ""
        return try? Target(String(exception.dropFirst(prefix.count)))
    }

    /// Checks that every exception can match a host, since curl(1) silently ignores the others.
    ///
    /// - Throws: ``TextError``, which quotes the first one that cannot.
    package func checkExceptions() throws(TextError) {
        for text in self.exceptions where text != "*" && (try? IPPrefix(parsing: text)) == nil {
            guard Self.host(in: text) == nil else { continue }
            throw TextError(
                "\"\(text)\" is not a host, a domain such as .example.com or *.example.com, an address or a network")
        }
    }

    /// - Throws: The first invalid property.
    package func validate() throws(ConfigurationValueError) {
        try Result { try self.checkExceptions() }
            .mapError { ConfigurationValueError(property: "proxy.exceptions", problem: "\($0)") }.get()
        for text in [self.http, self.https].compactMap(\.self) {
            _ = try Result { try Proxy(text) }
                .mapError { ConfigurationValueError(property: "proxy", problem: "\($0)") }.get()
        }
    }
}

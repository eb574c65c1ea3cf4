internal import TidegateCore

/// The host and the port of a URL.
struct Origin: Hashable {
    let host: String
    let port: UInt16
    /// Whether the host is an address, which needs no resolving.
    let isLiteral: Bool

    /// The origin of an absolute http or https URL; nil for anything else.
    init?(url: String) {
        guard let isTLS = Origin.isTLS(url) else { return nil }
        self.init(authority: url.utf8.dropFirst(isTLS ? 8 : 7), port: isTLS ? 443 : 80)
    }

    /// The host and port of a proxy of any scheme; without a port it is libcurl's 1080.
    init?(proxy: String) {
        guard let colon = proxy.utf8.firstIndex(of: UInt8(ascii: ":")), proxy[colon...].hasPrefix("://") else {
            return nil
        }
        self.init(authority: proxy.utf8[colon...].dropFirst(3), port: 1080)
    }

    private init?(authority rest: Substring.UTF8View, port: UInt16) {
        var authority = rest.prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[authority.index(after: at)...] }
        let bracket = authority.lastIndex(of: UInt8(ascii: "]"))
        var digits = authority[authority.endIndex...]
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            digits = authority[authority.index(after: colon)...]
            authority = authority[..<colon]
        }
        guard !authority.isEmpty, let port = digits.isEmpty ? port : Origin.port(digits) else { return nil }
        self.host = String(Substring(authority))
        self.port = port
        self.isLiteral = bracket != nil || IPAddress(self.host) != nil
    }

    /// The root of the same host and port, with TLS or without.
    func url(isSecure: Bool) -> String {
        let needsBrackets = self.host.utf8.contains(UInt8(ascii: ":")) && !self.host.hasPrefix("[")
        let host = needsBrackets ? "[\(self.host)]" : self.host
        return "\(isSecure ? "https" : "http")://\(host):\(self.port)/"
    }

    private static func isTLS(_ url: String) -> Bool? {
        func starts(with scheme: StaticString) -> Bool {
            scheme.withUTF8Buffer { wanted in
                url.utf8.count >= wanted.count && zip(url.utf8, wanted).allSatisfy { HeaderBlock.lowered($0) == $1 }
            }
        }
        return starts(with: "http://") ? false : starts(with: "https://") ? true : nil
    }

    private static func port(_ digits: Substring.UTF8View) -> UInt16? {
        HeaderBlock.count(Substring(digits)).flatMap(UInt16.init(exactly:))
    }
}

/// The origin of the last URL: attempts mostly come in rows.
struct OriginCache {
    private var url = ""
    private var origin: Origin?

    mutating func origin(of url: String) -> Origin? { self.origin(url) { Origin(url: $0) } }

    mutating func origin(ofProxy proxy: String) -> Origin? { self.origin(proxy) { Origin(proxy: $0) } }

    private mutating func origin(_ url: String, parse: (String) -> Origin?) -> Origin? {
        guard url != self.url else { return self.origin }
        self.url = url
        self.origin = parse(url)
        return self.origin
    }
}

/// A proxy: its protocol, its address and its credentials.
package struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// The protocol of a proxy (CURLOPT_PROXY(3)).
    package enum Scheme: String, Sendable, CaseIterable {
        case http, https
        /// SOCKS 4 with names, which the proxy looks up.
        case socks4a
        /// SOCKS 5 (RFC 1928) with addresses, which are looked up here.
        case socks5
        /// SOCKS 5 with names, which the proxy looks up.
        case socks5h
    }

    package let scheme: Scheme
    /// Its host and port; the port is always present.
    package let target: Target
    /// `USER` or `USER:PASSWORD`, as written; nil without.
    private let userInfo: String?

    /// Parses `[SCHEME://][USER[:PASSWORD]@]HOST:PORT`; without a scheme it is `http`.
    ///
    /// - Throws: ``TextError``, which quotes the text without user and password.
    package init(_ text: String) throws(TextError) {
        let colon = text.firstRange(of: "://")
        let rest = colon.map { text[$0.upperBound...] } ?? text[...]
        let authority = rest.prefix { $0 != "/" }
        let at = authority.lastIndex(of: "@")
        let host = at.map { authority[authority.index(after: $0)...] } ?? authority
        let name = colon.map { String(text[..<$0.lowerBound]) } ?? "http"
        let shown = "\"\(colon == nil ? "" : "\(name)://")\(host)\""
        guard let scheme = Scheme(rawValue: name.lowercased()) else {
            throw TextError("\(shown) is not a proxy of http, https, socks4a, socks5 or socks5h")
        }
        // The text before it is a part of a password, not a host.
        guard !rest.dropFirst(authority.count).contains("@") else {
            throw TextError("the user or the password of a proxy has a slash in it, which has to be written as %2F")
        }
        guard rest.dropFirst(authority.count).allSatisfy({ $0 == "/" }) else {
            throw TextError("\(shown) has a path, which a proxy has not")
        }
        self.target = try Result { try Target(String(host)) }
            .mapError { TextError("\(shown) names no host that can be asked: \($0)") }.get()
        // curl would take 1080, others the scheme's.
        guard self.target.port != nil else { throw TextError("\(shown) names no port") }
        let userInfo = at.map { String(authority[..<$0]) }
        guard userInfo?.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) ?? true else {
            throw TextError("the user or the password of \(shown) has a space or a control character in it")
        }
        self.scheme = scheme
        self.userInfo = userInfo
    }

    /// Without user and password.
    package var description: String { "\(self.scheme.rawValue)://\(self.target)" }

    /// With them, for libcurl, which authenticates to the proxy with them.
    package var textWithCredentials: String {
        // libcurl would take the user information to end at these.
        let user = self.userInfo.map { text in
            text.unicodeScalars.map { $0 == "#" ? "%23" : $0 == "?" ? "%3F" : String($0) }.joined() + "@"
        }
        return "\(self.scheme.rawValue)://\(user ?? "")\(self.target.encoded)"
    }
}

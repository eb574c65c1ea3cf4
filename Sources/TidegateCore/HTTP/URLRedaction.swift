/// What is left out of URLs before they are shown to others.
public struct URLRedaction: Sendable, Hashable {
    /// True leaves out the query, where tokens are, and the fragment.
    public var query: Bool
    /// True leaves out the user's name and password.
    public var userinfo: Bool
    /// True leaves only the scheme, the host and the port.
    package var path = false

    /// For what leaves this machine: a path may be a secret as a whole, as those of web hooks are.
    package static let toOrigin: URLRedaction = {
        var redaction = URLRedaction()
        redaction.path = true
        return redaction
    }()

    /// A redaction; by default of both.
    public init(query: Bool = true, userinfo: Bool = true) {
        self.query = query
        self.userinfo = userinfo
    }

    /// `url` without the redacted parts; a text that is not a URL loses what looks like them as well.
    package func text(of url: String) -> String {
        let whole = self.query ? url.prefix { $0 != "?" && $0 != "#" } : url[...]
        guard let authority = URLRedaction.authority(of: whole) else { return String(whole) }
        let end = self.path ? authority.upperBound : whole.endIndex
        guard self.userinfo, let at = whole[authority].lastIndex(of: "@") else { return String(whole[..<end]) }
        return whole[..<authority.lowerBound] + String(whole[whole.index(after: at)..<end])
    }

    /// The same for a probe's target, which may be a URL without its scheme.
    package func target(from text: String) -> String {
        if Self.hasScheme(text) { return self.text(of: text) }
        // The path of a Unix socket.
        return text.hasPrefix("/") ? text : String(self.text(of: "//\(text)").dropFirst(2))
    }

    /// A text whose URLs have only their scheme, host and port; a URL ends before a space, a quotation mark, an angle
    /// bracket or a backslash.
    package static func withOrigins(_ text: String) -> String {
        var (result, rest) = ("", text[...])
        while let mark = rest.firstRange(of: "://") {
            result += rest[..<mark.upperBound]
            let url = rest[mark.upperBound...].prefix { !$0.isWhitespace && !"\"<>\\".contains($0) }
            result += self.toOrigin.text(of: "//\(url)").dropFirst(2)
            rest = rest[url.endIndex...]
        }
        return result + rest
    }

    // A query may have the URL of something else.
    static func hasScheme(_ text: String) -> Bool {
        let start = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return text[start.endIndex...].hasPrefix("//") && (start.isEmpty || start.last == ":")
    }

    // RFC 3986 3.2: behind the two slashes, up to the next one, a question mark or a number sign.
    private static func authority(of url: Substring) -> Range<Substring.Index>? {
        guard let slash = url.firstIndex(of: "/"), url[slash...].hasPrefix("//") else { return nil }
        let start = url.index(slash, offsetBy: 2)
        return start..<(url[start...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex)
    }
}

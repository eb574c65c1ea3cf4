package import TidegateModel

/// The parts of an `http` or `https` URL that the roof looks at (RFC 3986 3).
package struct WebAddress: Sendable, Hashable {
    /// `http` or `https`.
    package let scheme: String
    /// The host with its port, where one is given.
    package let target: Target
    /// The path before any query, percent-encoded as it was given; `/` where there is none.
    package let path: String
    /// The text as it was given.
    package let text: String

    /// Parses a URL; the error quotes it.
    package init(parsing text: String) throws(TextError) {
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw TextError("\"\(text)\" is not a URL: spaces and control characters have to be percent-encoded")
        }
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
            throw TextError("\"\(text)\" is not a URL: it has to begin with http:// or https://")
        }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw TextError("\"\(text)\": only http and https are possible, not \(scheme)")
        }
        let rest = text[colon...].dropFirst(3)
        let authority = rest.prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        do {
            self.target = try Target(String(host))
        } catch {
            throw TextError("\"\(text)\" is not a URL: \(error)")
        }
        let path = rest.dropFirst(authority.count).prefix { $0 != "?" && $0 != "#" }
        self.scheme = scheme
        self.path = path.isEmpty ? "/" : String(path)
        self.text = text
    }
}

extension WebAddress {
    /// A URL without user information, query and fragment, as logs may show it.
    package static func redacted(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        guard let slashes = bare.firstIndex(of: "/"), bare[slashes...].hasPrefix("//") else { return String(bare) }
        let authorityStart = bare.index(slashes, offsetBy: 2)
        let authorityEnd = bare[authorityStart...].firstIndex(of: "/") ?? bare.endIndex
        guard let at = bare[authorityStart..<authorityEnd].lastIndex(of: "@") else { return String(bare) }
        return bare[..<authorityStart] + String(bare[bare.index(after: at)...])
    }
}

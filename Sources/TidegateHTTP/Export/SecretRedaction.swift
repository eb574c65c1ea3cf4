internal import HTTPTypes
internal import TidegateCore
public import TidegateSession

/// Removes secrets from exports: credentials, cookies, fields whose names indicate secrets, and query values.
struct SecretRedaction: Sendable {
    /// The replacement for a secret.
    static let mark = "REDACTED"

    // Parts of field names in lower case; field names are case-insensitive (RFC 9110 5.1).
    private static let secretNames = [
        "authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "auth", "session", "credential",
        "signature",
    ]
    // The values of these fields are URLs.
    private static let urlNames: Set = ["location", "content-location", "referer", "refresh", "link"]

    /// False leaves everything unchanged.
    let isOn: Bool

    /// A field's value.
    func value(_ value: String, of name: String) -> String {
        guard self.isOn, !value.isEmpty else { return value }
        let name = name.lowercased()
        if Self.urlNames.contains(name) { return self.url(value) }
        // A signature or seal may have several parts; only the scheme is public.
        guard Self.secretNames.contains(where: name.contains), name != "www-authenticate", name != "proxy-authenticate"
        else { return value }
        let scheme = name.hasSuffix("authorization") ? value.split(separator: " ", maxSplits: 1) : []
        return scheme.count == 2 ? "\(scheme[0]) \(Self.mark)" : Self.mark
    }

    /// A URL, or a reference to one, without user information and with only the names of its query.
    func url(_ url: String) -> String {
        guard self.isOn else { return url }
        let base = URLRedaction().text(of: url)
        let rest = url.drop { $0 != "?" && $0 != "#" }
        guard rest.first == "?" else { return base }
        let query = rest.dropFirst().prefix { $0 != "#" }
        // A part that is not `NAME=VALUE` is a value.
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard !part.isEmpty else { return "" }
            guard let sign = part.firstIndex(of: "=") else { return Self.mark }
            return "\(part[...sign])\(Self.mark)"
        }
        return "\(base)?\(parts.joined(separator: "&"))"
    }

    /// A line of an exchange; nil for a line that repeats part of a head.
    func line(_ line: Exchange.Line) -> Exchange.Line? {
        guard self.isOn else { return line }
        switch line.kind {
        case .note:
            // libcurl also lists the fields of HTTP/2 heads in notes.
            if line.text.hasPrefix("h2h3 [") || line.text.hasPrefix("[HTTP/") { return nil }
            guard let start = line.text.firstRange(of: "with user '")?.upperBound else { return line }
            return Exchange.Line(.note, "\(line.text[..<start])\(Self.mark)'")
        case .sent, .received:
            if let colon = line.text.firstRange(of: ": "), !line.text[..<colon.lowerBound].contains(" ") {
                let name = String(line.text[..<colon.lowerBound])
                return Exchange.Line(
                    line.kind, "\(name): \(self.value(String(line.text[colon.upperBound...]), of: name))")
            }
            let parts = line.text.split(separator: " ", omittingEmptySubsequences: false)
            guard line.kind == .sent, parts.count == 3 else { return line }
            return Exchange.Line(.sent, "\(parts[0]) \(self.url(String(parts[1]))) \(parts[2])")
        }
    }
}

extension Exchange {
    /// ``lines`` without credentials, cookies and query values.
    public var redactedLines: [Line] { self.lines.compactMap(SecretRedaction(isOn: true).line) }
}

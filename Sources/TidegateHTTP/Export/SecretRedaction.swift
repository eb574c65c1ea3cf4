internal import TidegateCore
public import TidegateSession

/// Removes secrets from exports: credentials, cookies, fields whose names indicate secrets, and query values.
struct SecretRedaction: Sendable {
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
        guard Secrets.isField(name) else { return value }
        let scheme = name.hasSuffix("authorization") ? value.split(separator: " ", maxSplits: 1) : []
        return scheme.count == 2 ? "\(scheme[0]) \(Secrets.mark)" : Secrets.mark
    }

    /// A URL, or a reference to one, without user information and with only the names of its query.
    func url(_ url: String) -> String { self.isOn ? Secrets.url(url) : url }

    /// A body's text.
    func body(_ text: String) -> String { self.isOn && !text.isEmpty ? Secrets.mark : text }

    /// A line of an exchange; nil for a line that repeats part of a head.
    func line(_ line: Exchange.Line) -> Exchange.Line? {
        guard self.isOn else { return line }
        switch line.kind {
        case .note:
            // libcurl also lists the fields of HTTP/2 heads in notes.
            if line.text.hasPrefix("h2h3 [") || line.text.hasPrefix("[HTTP/") { return nil }
            guard let start = line.text.firstRange(of: "with user '")?.upperBound else { return line }
            return Exchange.Line(.note, "\(line.text[..<start])\(Secrets.mark)'")
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

/// What is secret in requests, URLs and configurations: exports, logs and printed configurations leave it out.
package enum Secrets {
    /// The replacement for a secret.
    package static let mark = "REDACTED"

    // Parts of field names in lower case; field names are case-insensitive (RFC 9110 5.1).
    private static let fields = [
        "-auth", "apikey", "authentic", "authoriz", "client-cert", "cookie", "credential", "csrf", "jwt", "passphrase",
        "password", "secret", "session", "signature", "token", "x-vault-", "xsrf",
    ]

    // Challenges (RFC 9110 11.6), and keys that are no credentials.
    private static let open: Set = ["idempotency-key", "proxy-authenticate", "sec-websocket-key", "www-authenticate"]

    /// Keys of a configuration; header fields have a rule of their own.
    package static let keys: Set = [
        "basic_auth_users", "bearer_token", "body", "client_secret", "credentials", "endpoint_params", "form", "key",
        "metadata", "password", "proxy_connect_header", "secrets", "send",
    ]

    /// True for a header field whose name says that its value is a secret.
    package static func isField(_ name: String) -> Bool {
        let name = name.lowercased()
        return !self.open.contains(name) && (name.hasSuffix("-key") || self.fields.contains(where: name.contains))
    }

    /// A URL, or a reference to one, without user information, tokens in its path and the values of its query.
    package static func url(_ url: String) -> String {
        let base = self.path(URLRedaction().text(of: url))
        let rest = url.drop { $0 != "?" && $0 != "#" }
        guard rest.first == "?" else { return base }
        let query = rest.dropFirst().prefix { $0 != "#" }
        // A part that is not `NAME=VALUE` is a value.
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard !part.isEmpty else { return "" }
            guard let sign = part.firstIndex(of: "=") else { return self.mark }
            return "\(part[...sign])\(self.mark)"
        }
        return "\(base)?\(parts.joined(separator: "&"))"
    }

    /// The same for a probe's target, which may be a URL without its scheme.
    package static func target(_ text: String) -> String {
        URLRedaction.hasScheme(text) ? self.url(text) : String(self.url("//\(text)").dropFirst(2))
    }

    /// A URL without a query, whose path has no segment that looks like a token.
    package static func path(_ url: String) -> String {
        guard url.utf8.count >= self.shortestToken else { return url }
        return url.split(separator: "/", omittingEmptySubsequences: false)
            .map { self.isToken($0) ? self.mark : String($0) }.joined(separator: "/")
    }

    private static let shortestToken = 20

    // A UUID, 16 letters and digits in a row, or a long mixture of upper and lower case with digits.
    private static func isToken(_ segment: Substring) -> Bool {
        let bytes = segment.utf8
        func has(_ range: ClosedRange<Unicode.Scalar>, in text: Substring.UTF8View) -> Bool {
            text.contains { (UInt8(ascii: range.lowerBound)...UInt8(ascii: range.upperBound)).contains($0) }
        }
        // A JSON Web Token (RFC 7519) begins with `{"` in Base64.
        if segment.hasPrefix("eyJ"), segment.split(separator: ".").count == 3 { return true }
        guard bytes.count >= self.shortestToken, bytes.allSatisfy(self.isOfToken) else { return false }
        let runs = segment.split { !$0.isLetter && !$0.isNumber }
        if runs.map(\.utf8.count) == [8, 4, 4, 4, 12] { return true }
        let isMixed = has("A"..."Z", in: bytes) && has("a"..."z", in: bytes) && has("0"..."9", in: bytes)
        return isMixed && bytes.count >= 24 && runs.count <= 2
            || runs.contains { run in
                run.utf8.count >= 16 && has("0"..."9", in: run.utf8) && run.contains(where: \.isLetter)
            }
    }

    // Letters and digits of Base64, of its form for URLs, and what joins the parts of a token.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-_~=:+%".utf8.contains(byte)
        }
    }
}

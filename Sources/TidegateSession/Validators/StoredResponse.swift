internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// A stored response that can be revalidated: its head, its validators, and the location of its body.
struct StoredResponse: Sendable, Hashable, Codable {
    /// The location of the body.
    enum Body: Sendable, Hashable, Codable {
        /// A file of the store.
        case stored(length: Int, sha256: String)
        /// The file of a download, as long as that has not changed.
        case file(path: String, FileIdentity, sha256: String?)
    }

    /// Distinguishes this response from those to other requests; see ``StoredRequest``.
    let key: String
    /// The URL without user information.
    let url: String
    /// The fields of the response as `Name: value`.
    var fields: [String]
    /// The names of the request fields that the response depends on, and a digest of their values.
    let vary: [String]
    let varyDigest: String
    var body: Body

    /// The digest of the body; nil for a file whose digest was not requested.
    var sha256: String? {
        switch self.body {
        case .stored(_, let digest): digest
        case .file(_, _, let digest): digest
        }
    }

    /// The name of the body's file in the store; nil for a body elsewhere.
    var bodyName: String? {
        guard case .stored(_, let digest) = self.body else { return nil }
        return "\(self.key).\(digest.prefix(16))"
    }

    /// The name of its description file.
    var name: String { "\(self.key).json" }

    // MARK: - Storing

    /// Creates the entry of a successful GET response that may be stored and revalidated; nil for any other.
    ///
    /// RFC 9111 sections 3 and 5.2.2.5: never with `no-store` or `Vary: *`; without a validator the entry would be
    /// useless.
    init?(_ head: ResponseHead, to request: StoredRequest, body: Body) {
        guard head.status == 200, head.field("ETag") != nil || head.field("Last-Modified") != nil,
            !StoredRequest.forbidsStoring(head.fields("Cache-Control"))
        else { return nil }
        let vary = head.fields("Vary").flatMap { StoredRequest.list($0) }
        guard !vary.contains("*") else { return nil }
        self.key = request.key
        self.url = request.url
        self.vary = Set(vary).sorted()
        self.varyDigest = request.digest(of: self.vary)
        let dropped = Self.dropped(head)
        self.fields = head.fields.filter { !dropped.contains($0.name.canonicalName) }.map(Self.line)
        self.body = body
    }

    private static func line(_ field: HTTPField) -> String { "\(field.name.rawName): \(field.value)" }

    // Connection fields are not stored (RFC 9111 3.1), and cookies are secrets that the jar has already taken.
    private static let unstored: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private static func dropped(_ head: ResponseHead) -> Set<String> {
        self.unstored.union(head.fields("Connection").flatMap { StoredRequest.list($0) })
    }

    // MARK: - Revalidation

    /// The fields for a request that revalidates the response (RFC 9110 13.1.2, 13.1.3).
    var conditions: [HTTPField] {
        [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")].compactMap { name, condition in
            self.value(name).flatMap { try? HTTPField(condition, $0) }
        }
    }

    /// Whether the request has the values that the response depends on (RFC 9111 4.1).
    func answers(_ request: StoredRequest) -> Bool {
        self.url == request.url && request.digest(of: self.vary) == self.varyDigest
    }

    /// The head, as if the server had sent it now; nil if the stored text is malformed.
    var head: ResponseHead? {
        ResponseHead(block: Array((["HTTP/1.1 200 OK"] + self.fields + [""]).joined(separator: "\r\n").utf8))
    }

    /// The response that a 304 confirms, with the newer fields (RFC 9111 3.2, 4.3.4); nil if it is about another one.
    func updated(by head: ResponseHead) -> StoredResponse? {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        if let tag = head.field("ETag"), self.value("ETag").map({ opaque($0) != opaque(tag) }) ?? true { return nil }
        // The body stays decoded, so the fields that describe it must stay unchanged.
        let kept = Self.dropped(head).union(["content-encoding", "content-length", "content-range"])
        let newer = head.fields.filter { !kept.contains($0.name.canonicalName) }
        let names = Set(newer.map(\.name.canonicalName))
        var updated = self
        updated.fields = self.fields.filter { !names.contains(Self.name(of: $0)) } + newer.map(Self.line)
        return updated
    }

    private func value(_ name: String) -> String? {
        self.fields.first { Self.name(of: $0) == name.lowercased() }.map { line in
            String(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
        }
    }

    private static func name(of line: String) -> String { line.prefix { $0 != ":" }.lowercased() }
}

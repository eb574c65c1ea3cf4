internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// The values that decide which stored response answers a request.
struct StoredRequest: Sendable {
    /// The URL without user information.
    let url: String
    /// The digest of everything that must match: the URL, the requester, and the destination.
    let key: String
    /// The absolute path of a download's file; nil for a body in memory.
    let file: String?
    private let fields: [HTTPField]

    /// The parts of a request besides its URL and fields.
    struct Context {
        /// The credentials that libcurl sends as Authorization; nil if there are none.
        var credentials: Credentials?
        /// The trusted servers, and the client certificate.
        var tls: TLSOptions
        var userAgent: String
        /// True if the response may be compressed, and is decoded.
        var isDecoded: Bool
        /// The file of a download; nil for a body in memory.
        var file: String?
    }

    /// Creates the request with these fields; nil if the store does not serve it.
    ///
    /// The store does not serve requests with the caller's own conditions or range, with `no-store`, with credentials
    /// that change each time (HTTP Digest authentication), or with a hook that evaluates the server.
    init?(_ url: HTTPURL, _ fields: [HTTPField], _ context: Context) {
        guard !fields.contains(where: { Self.own.contains($0.name.canonicalName) }),
            !Self.forbidsStoring(fields.filter { $0.name == .cacheControl }.map(\.value))
        else { return nil }
        let authorization = fields.filter { $0.name == .authorization }.map(\.value)
        guard !authorization.contains(where: { $0.lowercased().hasPrefix("digest ") }),
            url.scheme == .http || context.tls.evaluator == nil
        else { return nil }
        self.url = url.text
        self.file = context.file
        let user = context.credentials.map { [$0.user, $0.password] } ?? []
        // The requester: a field that must not go to another origin may be a secret, and Host selects another server.
        let own = fields.filter {
            !PortableFields.mayCrossOrigins($0.name) && !Self.traces.contains($0.name.canonicalName)
        }
        .map { "\($0.name.canonicalName): \($0.value)" }
        let parts = [
            [url.text], own.sorted(), user, url.scheme == .https ? Self.trust(context.tls) : [],
            [context.isDecoded ? "decoded" : ""], [context.file ?? ""],
        ]
        self.key = Self.digest(parts)
        self.fields =
            fields.filter { $0.name != .userAgent } + [
                HTTPField(name: .userAgent, value: context.userAgent),
                HTTPField(name: .acceptEncoding, value: context.isDecoded ? "decoded" : "identity"),
            ]
    }

    /// Fields of callers that revalidate themselves or request a part.
    private static let own: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
    ]

    /// Fields that change with every request and are not secret (W3C Trace Context).
    private static let traces: Set<String> = ["traceparent", "tracestate"]

    // The requirements that a server met: a request never receives the response of a server that met fewer.
    private static func trust(_ tls: TLSOptions) -> [String] {
        [
            tls.caFile ?? "", "\(tls.isInsecure)", "\(tls.verifiesName)", tls.clientCertificate ?? "",
            tls.clientKey ?? "", tls.crlFile ?? "", "\(tls.requiresStatus)",
        ] + tls.pins.map { "\($0.kind) \($0.digest)" }.sorted()
    }

    /// A digest of the values of these fields (RFC 9111 4.1).
    func digest(of names: [String]) -> String {
        Self.digest(names.map { name in self.fields.filter { $0.name.canonicalName == name }.map(\.value) })
    }

    // Includes the lengths, so that no two lists have the same text.
    private static func digest(_ parts: [[String]]) -> String {
        let text = parts.map { part in "\(part.count)" + part.map { ";\($0.utf8.count):\($0)" }.joined() }
        return MessageDigest.sha256(Array(text.joined(separator: "\n").utf8)).hexadecimal
    }

    /// Whether a Cache-Control field forbids storing (RFC 9111 5.2.1.5, 5.2.2.5).
    static func forbidsStoring(_ fields: [String]) -> Bool {
        fields.flatMap { self.list($0) }.contains { $0.prefix { $0 != "=" } == "no-store" }
    }

    /// The members of a list in a field's value, in lower case.
    static func list(_ value: String) -> [String] {
        value.split(separator: ",").map { $0.lowercased().trimmingOptionalWhitespace }.filter { !$0.isEmpty }
    }
}

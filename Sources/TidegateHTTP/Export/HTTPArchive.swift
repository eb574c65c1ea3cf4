internal import TidegateCore
public import TidegateSession

/// Exchanges as HAR 1.2 (HTTP Archive), which browsers and proxies read; each attempt and each hop is an entry.
public struct HTTPArchive: Sendable {
    /// The entries, each as JSON.
    package let entryTexts: [String]
    private let creator: (name: String, version: String)

    /// The archive of exchanges, in order.
    ///
    /// Without `showingSecrets`, credentials, cookies, fields whose names indicate secrets, and query values become
    /// `REDACTED`. Bodies are unchanged.
    public init(_ exchanges: [Exchange], showingSecrets: Bool = false, creator: (name: String, version: String)) {
        self.init(exchanges, request: .none, response: nil, SecretRedaction(isOn: !showingSecrets), creator)
    }

    /// Includes the body of the request, and that of the last exchange's response; nil if it is not kept.
    fileprivate init(
        _ exchanges: [Exchange], request: RequestBody, response: [UInt8]?, _ redaction: SecretRedaction,
        _ creator: (name: String, version: String)
    ) {
        self.creator = creator
        self.entryTexts = exchanges.enumerated().map { position, exchange in
            let entry = HAREntry(
                exchange: exchange, redaction: redaction, requestBody: exchange.hasBody ? request : .none,
                responseBody: position == exchanges.count - 1 ? response : nil, request: exchange.requestHead,
                response: exchange.responseHead)
            return "\(entry.json)"
        }
    }

    /// The archive as JSON (RFC 8259).
    public var text: String {
        Self.start(creator: self.creator) + self.entryTexts.joined(separator: ",") + Self.end
    }

    /// The text before the first entry; commas separate the entries, and ``end`` follows them.
    package static func start(creator: (name: String, version: String)) -> String {
        let maker: JSONValue = ["name": .string(creator.name), "version": .string(creator.version)]
        return #"{"log":{"version":"1.2","creator":\#(maker),"entries":["#
    }

    /// The text after the last entry.
    package static let end = "]}}"
}

extension TransferTask {
    /// The task's request as a command of curl(1); see ``CurlCommand/init(_:showingSecrets:)``.
    public func curlCommand(showingSecrets: Bool = false) -> CurlCommand {
        CurlCommand(self.request, showingSecrets: showingSecrets)
    }

    /// The task's ``exchanges`` as HAR 1.2, with the request's body and with ``body()``.
    public func archive(
        showingSecrets: Bool = false, creator: (name: String, version: String) = ("tidegate", "")
    ) -> HTTPArchive {
        self.archive(showingSecrets: showingSecrets, creator: creator, keptBody: nil)
    }

    /// Like the other overload, with the response body that the caller has kept.
    package func archive(
        showingSecrets: Bool, creator: (name: String, version: String), keptBody: [UInt8]?
    ) -> HTTPArchive {
        let own = self.body()
        return HTTPArchive(
            self.exchanges, request: self.request.body, response: own.isEmpty ? keptBody : own,
            SecretRedaction(isOn: !showingSecrets), creator)
    }
}

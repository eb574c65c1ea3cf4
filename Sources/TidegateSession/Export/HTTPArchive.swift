internal import FoundationEssentials
package import TidegateCore

/// Exchanges as HAR 1.2 (HTTP Archive), which browsers and proxies read: one entry for each attempt and each hop.
public struct HTTPArchive: Sendable {
    /// What is known of the bodies of a task's exchanges.
    struct Bodies: Sendable {
        var request = RequestBody.none
        /// The response's of the last exchange; nil if it is not kept.
        var response: [UInt8]?
    }

    private let entries: [JSONValue]
    private let creator: (name: String, version: String)

    /// The archive of exchanges, in order.
    ///
    /// Without `showingSecrets` credentials, cookies, fields whose names say that they hold secrets, and the values of
    /// queries are `REDACTED`; bodies are left as they are.
    public init(_ exchanges: [Exchange], showingSecrets: Bool = false, creator: (name: String, version: String)) {
        self.init(exchanges, Bodies(), SecretRedaction(isOn: !showingSecrets), creator)
    }

    init(
        _ exchanges: [Exchange], _ bodies: Bodies, _ redaction: SecretRedaction,
        _ creator: (name: String, version: String)
    ) {
        self.creator = creator
        self.entries = exchanges.enumerated().map { position, exchange in
            let isLast = position == exchanges.count - 1
            return HAREntry(
                exchange: exchange, redaction: redaction, requestBody: exchange.hasBody ? bodies.request : .none,
                responseBody: isLast ? bodies.response : nil
            ).json
        }
    }

    /// The archive as JSON (RFC 8259).
    public var text: String { "\(self.json)" }

    /// The entries, each as JSON.
    package var entryTexts: [String] { self.entries.map(\.description) }

    /// What stands before the first entry; commas separate them, and ``end`` follows.
    package static func start(creator: (name: String, version: String)) -> String {
        let maker: JSONValue = ["name": .string(creator.name), "version": .string(creator.version)]
        return #"{"log":{"version":"1.2","creator":\#(maker),"entries":["#
    }

    /// What stands after the last entry.
    package static let end = "]}}"

    package var json: JSONValue {
        [
            "log": [
                "version": "1.2",
                "creator": ["name": .string(self.creator.name), "version": .string(self.creator.version)],
                "entries": .array(self.entries),
            ]
        ]
    }
}

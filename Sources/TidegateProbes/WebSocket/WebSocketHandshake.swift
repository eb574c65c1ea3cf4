internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket
internal import TidegateCore

/// The opening handshake of a WebSocket connection (RFC 6455 4), from the client's side.
struct WebSocketHandshake: Sendable {
    /// What a server said to it.
    struct Answer: Sendable {
        let status: Int
        /// What is wrong with a switch of protocols, in one clause; nil if nothing is.
        let problem: String?

        /// True if what follows are frames.
        var isUpgrade: Bool { self.status == 101 && self.problem == nil }
    }

    let request: HTTPRequestHead
    private let key: String
    /// The protocols that the module offers, in lower case.
    private let protocols: [String]

    /// A handshake that asks for a resource, with a random key.
    init(_ url: HTTPURL, fields: [HTTPField], userAgent: String) {
        let key = NIOWebSocketClientUpgrader.randomRequestKey()
        func first(_ name: String) -> String? { fields.first { $0.name.canonicalName == name }?.value }
        var headers: HTTPHeaders = [
            "Host": first("host") ?? url.origin.authority, "User-Agent": first("user-agent") ?? userAgent,
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
        ]
        for field in fields where !["host", "user-agent"].contains(field.name.canonicalName) {
            headers.add(name: field.name.rawName, value: field.value)
        }
        self.key = key
        self.protocols = headers.tokens("Sec-WebSocket-Protocol")
        self.request = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.requestTarget, headers: headers)
    }

    /// What an answer means.
    func answer(_ head: HTTPResponseHead) -> Answer {
        Answer(
            status: Int(head.status.code), problem: head.status == .switchingProtocols ? self.problem(of: head) : nil)
    }

    // RFC 6455 4.1.
    private func problem(of head: HTTPResponseHead) -> String? {
        guard head.headers.tokens("Upgrade").contains("websocket"),
            head.headers.tokens("Connection").contains("upgrade")
        else { return "the server switches to another protocol than WebSocket" }
        // Nothing else of swift-nio has the digest.
        let verifier = NIOWebSocketClientUpgrader(requestKey: self.key) { channel, _ in
            channel.eventLoop.makeSucceededVoidFuture()
        }
        guard verifier.shouldAllowUpgrade(upgradeResponse: head) else {
            return "the server's Sec-WebSocket-Accept does not fit the key"
        }
        guard head.headers.tokens("Sec-WebSocket-Extensions").isEmpty else {
            return "the server uses an extension that nobody asked for"
        }
        let chosen = head.headers.tokens("Sec-WebSocket-Protocol")
        guard chosen.count <= 1, chosen.allSatisfy(self.protocols.contains) else {
            return "the server chose a protocol that nobody offered"
        }
        return nil
    }
}

extension HTTPHeaders {
    /// The elements of a list, in lower case.
    fileprivate func tokens(_ name: String) -> [String] {
        self[canonicalForm: name].map { $0.lowercased() }.filter { !$0.isEmpty }
    }
}

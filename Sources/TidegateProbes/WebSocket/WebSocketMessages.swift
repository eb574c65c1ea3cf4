internal import NIOCore
internal import NIOWebSocket

/// Why a WebSocket connection cannot go on: the server breaks the protocol, or sends more than is kept.
enum WebSocketError: Error {
    case violation(String)
    case tooLarge(String)

    /// The code of the close frame that says so (RFC 6455 7.4.1).
    var code: WebSocketErrorCode {
        switch self {
        case .violation: .protocolError
        case .tooLarge: .messageTooLarge
        }
    }
}

/// Joins a server's frames to messages (RFC 6455 5).
struct WebSocketMessages {
    /// What a frame completes.
    enum Event: Equatable {
        /// A message of text or bytes.
        case message([UInt8])
        /// A ping, with what has to come back.
        case ping([UInt8])
        /// The server ends the connection; a code and a reason need not be there.
        case close(code: UInt16?, reason: String)
        /// Nothing: part of a message, or a pong.
        case none
    }

    /// The longest message, and the longest frame.
    static let limit = 1 << 20

    /// The beginning of a message whose end has not come; nil between messages.
    private var start: [UInt8]?

    /// Takes the next frame.
    ///
    /// - Throws: What is wrong with it.
    mutating func take(_ frame: WebSocketFrame) throws(WebSocketError) -> Event {
        guard frame.maskKey == nil else { throw .violation("the server masks its frames") }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            throw .violation("the server sets a bit that belongs to an extension")
        }
        let bytes = Array(frame.data.readableBytesView)
        switch frame.opcode {
        case .ping: return .ping(bytes)
        case .pong: return .none
        case .connectionClose: return try self.close(bytes)
        case .continuation:
            guard let start = self.start else { throw .violation("the server continues a message that it never began") }
            return try self.join(start, bytes, isLast: frame.fin)
        case .text, .binary:
            guard self.start == nil else { throw .violation("the server begins a message inside another one") }
            return try self.join([], bytes, isLast: frame.fin)
        default: throw .violation("the server sends a frame with an opcode that means nothing")
        }
    }

    private mutating func join(_ start: [UInt8], _ bytes: [UInt8], isLast: Bool) throws(WebSocketError) -> Event {
        guard start.count + bytes.count <= Self.limit else { throw .tooLarge("a message has more than 1 MiB") }
        // Without a copy of what is there already.
        self.start = nil
        var message = start
        message += bytes
        if isLast { return .message(message) }
        self.start = message
        return .none
    }

    private func close(_ bytes: [UInt8]) throws(WebSocketError) -> Event {
        if bytes.isEmpty { return .close(code: nil, reason: "") }
        guard bytes.count >= 2 else { throw .violation("the server's close frame has half a code") }
        let code = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        return .close(code: code, reason: String(decoding: bytes.dropFirst(2), as: UTF8.self))
    }
}

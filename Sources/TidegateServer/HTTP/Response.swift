internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// The format of the sentence in an error response.
enum ProblemFormat: Sendable {
    /// A line of text, with a capital letter and a full stop.
    case text
    /// `{"schema":1,"error":SENTENCE}`.
    case json
}

extension Response {
    /// An error: its status and one sentence.
    static func problem(
        _ status: HTTPResponse.Status, _ message: String, format: ProblemFormat = .text, headers: HTTPFields = [:]
    ) -> Response {
        var response =
            switch format {
            case .text: Response.text(message, status: status)
            case .json: Response.json(["schema": 1, "error": .string(message)], status: status)
            }
        response.headers.append(contentsOf: headers)
        return response
    }

    /// 503 with the time after which a retry may succeed.
    static func unavailable(_ message: String, retryAfter seconds: Int) -> Response {
        .problem(.serviceUnavailable, message, headers: [.retryAfter: String(seconds)])
    }

    /// One line of text.
    static func text(_ line: String, status: HTTPResponse.Status = .ok) -> Response {
        .content(ByteBuffer(string: line + "\n"), status: status)
    }

    /// A complete body, of plain text unless another type is given.
    static func content(
        _ body: ByteBuffer, type: String = "text/plain; charset=utf-8", status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: body))
    }

    /// One JSON value on one line.
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        self.json(body: Array((value.description + "\n").utf8), status: status)
    }

    /// A JSON value as text.
    static func json(body: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        .content(ByteBuffer(bytes: body), type: "application/json; charset=utf-8", status: status)
    }

    /// True if the body continues for as long as the client reads it.
    var isStream: Bool { self.body.contentLength == nil }
}

extension ResponseWriter {
    /// Writes a response to a request with this method.
    ///
    /// - Parameter timeout: How long a body of known length may take. Then the connection is closed, because a client
    /// that stops reading would keep its buffers and its connection indefinitely. A stream sets its own limits.
    consuming func write(
        _ response: Response, to method: HTTPRequest.Method, on channel: any Channel, timeout: Duration
    ) async throws {
        if method == .head, response.headers[.contentLength] == nil {
            // The encoder would also write the end of a chunked body; closing the connection prevents that.
            _ = try await self.writeHead(response.head)
            return try await channel.close()
        }
        // A response abandoned at a shutdown outlives its event loop, which then accepts no timers.
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        if response.isStream { return try await self.write(response: response.head, body: response.body) }
        let timer = channel.eventLoop.scheduleTask(in: .init(timeout)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        if method == .head {
            try await self.writeResponse(response.head)
        } else {
            try await self.write(response: response.head, body: response.body)
        }
    }
}

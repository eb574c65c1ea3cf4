internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// An error response: its status and one sentence.
struct ProblemDocument: Sendable {
    /// How the sentence is written.
    enum Format: Sendable {
        /// A line of text, with a capital letter and a full stop.
        case text
        /// `{"schema":1,"error":SENTENCE}`.
        case json
    }

    let status: HTTPResponse.Status
    let message: String
    let format: Format
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ message: String, format: Format = .text) {
        self.status = status
        self.message = message
        self.format = format
    }

    /// 503 with the time after which another try may succeed.
    static func unavailable(_ message: String, retryAfter seconds: Int) -> ProblemDocument {
        var problem = ProblemDocument(.serviceUnavailable, message)
        problem.headers[.retryAfter] = String(seconds)
        return problem
    }

    var response: Response {
        var response: Response
        switch self.format {
        case .text: response = .text(self.message, status: self.status)
        case .json: response = .json(["schema": 1, "error": .string(self.message)], status: self.status)
        }
        response.headers.append(contentsOf: self.headers)
        return response
    }
}

extension Response {
    /// One line of text.
    static func text(_ line: String, status: HTTPResponse.Status = .ok) -> Response {
        .content(ByteBuffer(string: line + "\n"), status: status)
    }

    /// A whole body, of text unless it has another type.
    static func content(
        _ body: ByteBuffer, type: String = "text/plain; charset=utf-8", status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: body))
    }

    /// One JSON value on one line.
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        self.json(body: Array((value.description + "\n").utf8), status: status)
    }

    /// The text of a JSON value.
    static func json(body: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        .content(ByteBuffer(bytes: body), type: "application/json; charset=utf-8", status: status)
    }
}

extension ResponseWriter {
    /// Writes a response to a request with this method.
    ///
    /// - Parameter timeout: How long a body of known length may take; then the connection is closed, because a client
    ///   that stops reading would keep its buffers and its connection for ever. A stream sets its own limits.
    consuming func write(
        _ response: Response, to method: HTTPRequest.Method, on channel: any Channel, timeout: Duration
    ) async throws {
        if method == .head, response.headers[.contentLength] == nil {
            // The encoder would write the end of a chunked body, too; the end of the connection comes before.
            _ = try await self.writeHead(response.head)
            return try await channel.close()
        }
        // A response that was abandoned at a shutdown outlives its event loop, which then takes no timers.
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

extension Response {
    /// True if the body goes on for as long as the client reads it.
    var isStream: Bool { self.body.contentLength == nil }
}

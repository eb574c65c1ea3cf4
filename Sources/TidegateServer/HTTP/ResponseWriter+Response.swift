internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

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

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Sends requests to a socket, each over a connection of its own.
struct ControlExchange: Sendable {
    let socket: String
    /// How long a daemon may be too busy to accept another connection.
    let timeout: Duration
    /// A user whose daemon is talked to, besides root's and one of this user's own.
    let owner: UInt32?

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPPart<HTTPRequestHead, IOData>>

    /// Sends the request and passes the status with each part of the response's body to `receive`; returns the status.
    func run(
        _ method: HTTPMethod, _ path: String, body: [UInt8]?,
        receive: (_ status: Int, [UInt8]) throws(ControlClientError) -> Void
    ) async throws(ControlClientError) -> Int {
        do {
            let connection = try await self.connect()
            return try await connection.executeThenClose { inbound, outbound in
                try await self.verify(connection.channel)
                // In one piece: a daemon that answers the head and closes leaves no connection for the end.
                try await outbound.write(contentsOf: self.request(method, path, body))
                var status = 0
                for try await part in inbound {
                    switch part {
                    case .head(let head): status = Int(head.status.code)
                    case .body(let buffer): try receive(status, Array(buffer.readableBytesView))
                    case .end: return status
                    }
                }
                throw self.disconnected
            }
        } catch let failure as ControlClientError {
            throw failure
        } catch {
            throw self.failure(error)
        }
    }

    private func connect() async throws -> Connection {
        let clock = ContinuousClock()
        let end = clock.now + self.timeout
        while true {
            do {
                return try await self.connectOnce()
            } catch let error as IOError where error.errnoCode == EAGAIN && clock.now < end {
                // The listen queue is full (unix(7)); the daemon will accept soon.
                try await clock.sleep(for: .milliseconds(50))
            }
        }
    }

    // Nothing is sent to a socket that another user has put there.
    private func verify(_ channel: any Channel) async throws(ControlClientError) {
        guard let user = await PeerVerification.peer(of: channel)?.user else {
            throw ControlClientError(
                .notAllowed, "who listens on the control socket \(self.socket) cannot be found out")
        }
        guard ![0, geteuid(), self.owner].contains(user) else { return }
        throw ControlClientError(
            .notAllowed,
            "the control socket \(self.socket) is another user's (uid \(user)), and was sent nothing; "
                + "--control.user \(user) trusts it")
    }

    private func connectOnce() async throws -> Connection {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: self.socket) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private func request(
        _ method: HTTPMethod, _ path: String, _ body: [UInt8]?
    ) -> [HTTPPart<HTTPRequestHead, IOData>] {
        var headers = HTTPHeaders([("Host", "tidegate"), ("Connection", "close")])
        if method == .POST { headers.add(name: "Content-Length", value: String(body?.count ?? 0)) }
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
        guard let body, !body.isEmpty else { return [.head(head), .end(nil)] }
        return [.head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil)]
    }

    private var isSocket: Bool {
        FileStatus(path: self.socket, followsLinks: true)?.isSocket ?? true
    }

    private var users: String {
        let group = ControlClient.group(of: self.socket).map { " \($0)" } ?? ""
        return "root, the daemon's user and members of the socket's group\(group)"
    }

    private var disconnected: ControlClientError {
        ControlClientError(
            .disconnected, "the daemon on the control socket \(self.socket) closed the connection before it responded")
    }

    private func failure(_ error: any Error) -> ControlClientError {
        switch error {
        // The daemon ended during the exchange.
        case let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE: self.disconnected
        case HTTPParserError.invalidEOFState, ChannelError.eof, ChannelError.ioOnClosedChannel: self.disconnected
        case let error as IOError where error.errnoCode == ECONNREFUSED && !self.isSocket:
            ControlClientError(.noDaemon, "\(self.socket) is not a socket")
        case let error as IOError
        where error.errnoCode == ENOENT || error.errnoCode == ENOTDIR || error.errnoCode == ECONNREFUSED:
            ControlClientError(
                .noDaemon,
                "no daemon is listening on the control socket \(self.socket); start one with \"tidegate serve\"")
        case let error as IOError where error.errnoCode == EACCES:
            ControlClientError(.notAllowed, "permission denied: the control socket \(self.socket) is for \(self.users)")
        case let error as IOError where error.errnoCode == EAGAIN:
            ControlClientError(
                .noDaemon, "the daemon on the control socket \(self.socket) is too busy to accept a connection")
        case SocketAddressError.unixDomainSocketPathTooLong:
            ControlClientError(
                .noDaemon, "the path of the control socket \(self.socket) is longer than 107 bytes")
        default:
            ControlClientError(.exchangeFailed, "the exchange over the control socket \(self.socket) failed: \(error)")
        }
    }
}

/// Why a daemon did not carry out a request on its control socket.
package struct ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures.
    package enum Reason: Sendable, Hashable {
        /// No daemon listens on the socket, or it is too busy.
        case noDaemon
        /// Somebody may listen there, but this user may not connect, or does not trust the user who does.
        case notAllowed
        /// The daemon refused, with this status.
        case refused(status: Int)
        /// The daemon closed the connection before it responded; the request may have been carried out.
        case disconnected
        /// What the daemon sent cannot be written.
        case notWritten
        /// The exchange failed.
        case exchangeFailed
    }

    /// The kind of failure.
    package let reason: Reason
    /// One sentence without a final full stop.
    package let description: String

    package init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One request and its answer.
struct ControlExchange: Sendable {
    let socket: String
    /// How long a daemon may be too busy to take another connection.
    let patience: Duration

    private typealias Wire = NIOAsyncChannel<HTTPClientResponsePart, HTTPPart<HTTPRequestHead, IOData>>

    /// Sends the request and hears the answer's body as it comes; gives the status.
    func run(
        _ method: HTTPMethod, _ path: String, body: [UInt8]?, hear: ([UInt8]) -> Void
    ) async throws(ControlFailure) -> Int {
        do {
            let wire = try await self.connect()
            return try await wire.executeThenClose { inbound, outbound in
                for part in self.request(method, path, body) { try await outbound.write(part) }
                var status = 0
                for try await part in inbound {
                    switch part {
                    case .head(let head): status = Int(head.status.code)
                    case .body(let buffer): hear(Array(buffer.readableBytesView))
                    case .end: return status
                    }
                }
                throw self.hungUp
            }
        } catch let failure as ControlFailure {
            throw failure
        } catch {
            throw self.failure(error)
        }
    }

    private func connect() async throws -> Wire {
        let clock = ContinuousClock()
        let end = clock.now + self.patience
        while true {
            do {
                return try await self.connectOnce()
            } catch let error as IOError where error.errnoCode == EAGAIN && clock.now < end {
                // Its queue is full (unix(7)): that passes.
                try await clock.sleep(for: .milliseconds(50))
            }
        }
    }

    private func connectOnce() async throws -> Wire {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: self.socket) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Wire(wrappingChannelSynchronously: channel)
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
        var status = stat()
        return stat(self.socket, &status) != 0 || status.st_mode & S_IFMT == S_IFSOCK
    }

    private var hungUp: ControlFailure {
        ControlFailure(.hungUp, "the daemon at the control socket \(self.socket) hung up before it had answered")
    }

    private func failure(_ error: any Error) -> ControlFailure {
        switch error {
        // It went while it was spoken to.
        case let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE: self.hungUp
        case HTTPParserError.invalidEOFState, ChannelError.eof, ChannelError.ioOnClosedChannel: self.hungUp
        case let error as IOError where error.errnoCode == ECONNREFUSED && !self.isSocket:
            ControlFailure(.noDaemon, "\(self.socket) is no socket")
        case let error as IOError
        where error.errnoCode == ENOENT || error.errnoCode == ENOTDIR || error.errnoCode == ECONNREFUSED:
            ControlFailure(.noDaemon, "no daemon answers at the control socket \(self.socket)")
        case let error as IOError where error.errnoCode == EACCES:
            ControlFailure(.noDaemon, "the control socket \(self.socket) is not for this user")
        case let error as IOError where error.errnoCode == EAGAIN:
            ControlFailure(.noDaemon, "the daemon at the control socket \(self.socket) is too busy to answer")
        case SocketAddressError.unixDomainSocketPathTooLong:
            ControlFailure(
                .noDaemon, "the path of the control socket \(self.socket) is longer than the 107 bytes it may have")
        default: ControlFailure(.broken, "the exchange over the control socket \(self.socket) failed: \(error)")
        }
    }
}

internal import Glibc
internal import NIOCore
internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork

/// A probe's question and its reply on a connection of its own.
struct DNSProbeExchange: Sendable {
    /// Why no reply came.
    enum Failure: Error {
        case timedOut
        /// The connection was closed by the server.
        case closed
        /// What came is no reply to the question.
        case malformed
        /// This host has no interface of that name.
        case noInterface(String)
        /// Somebody refused the datagram, with an error number (errno(3)), that came from `local`.
        case refused(ICMPError, code: Int32, local: IPAddress?)
    }

    /// How far an exchange came.
    final class Progress: Sendable {
        private struct State {
            var stage = Stage.connect
            var connected: MonotonicTime?
            var hasJunk = false
        }

        private let state = Mutex(State())
        private let time: any TimeSource

        init(_ time: any TimeSource) { self.time = time }

        func enter(_ stage: Stage) {
            let now = self.time.monotonic()
            self.state.withLock { state in
                state.stage = stage
                if stage == .response { state.connected = now }
            }
        }

        /// Datagrams came that are no replies to the question.
        func receiveJunk() { self.state.withLock { $0.hasJunk = true } }

        var hasJunk: Bool { self.state.withLock { $0.hasJunk } }
        var stage: Stage { self.state.withLock { $0.stage } }
        /// When the connection stood, with its handshake; nil if it never did.
        var connected: MonotonicTime? { self.state.withLock { $0.connected } }
    }

    let port: UInt16
    /// The handshake that comes first; nil for none.
    let tls: TLSClient?
    let query: DNSQuery

    /// Asks by a datagram; a channel of NIO for them traps when a router refuses one.
    func ask(
        by datagrams: DatagramClient, _ request: SocketRequest, _ progress: Progress
    ) async throws -> DNSReply {
        // The client would say only that it could not send.
        if let name = request.interface, NetworkInterface.index(of: name) == nil { throw Failure.noInterface(name) }
        let result = await datagrams.exchange(
            self.query.bytes, request, whenSent: { progress.enter(.response) },
            isAnswer: { bytes in
                // Anybody can send a datagram that seems to come from the server: one that does not fit ends nothing.
                guard DNSReply(bytes, to: self.query) == nil else { return true }
                progress.receiveJunk()
                return false
            })
        switch result {
        case .answered(let bytes): return try DNSReply(bytes, to: self.query) ?? { throw Failure.malformed }()
        case .silent: throw Failure.timedOut
        // The server's own word, unless somebody else sent it.
        case .refused(let error, code: ECONNREFUSED, _) where error.isFrom(request.address):
            throw IOError(errnoCode: ECONNREFUSED, reason: "recv")
        case .failed(ECONNREFUSED): throw IOError(errnoCode: ECONNREFUSED, reason: "recv")
        case .refused(let error, let code, let local): throw Failure.refused(error, code: code, local: local)
        case .failed(let code): throw IOError(errnoCode: code, reason: "send")
        }
    }

    /// Asks on a connection that stands, and waits for at most `limit`.
    func ask(
        on socket: consuming ConnectedSocket, within limit: Duration, _ progress: Progress
    ) async throws -> DNSReply {
        if self.tls != nil { progress.enter(.tls) }
        let connection = try await StreamConnection.take(socket, within: limit, tls: self.tls)
        defer { connection.close() }
        if let tls = self.tls, let handshake = connection.handshake { _ = try await tls.chain(after: handshake) }
        progress.enter(.response)
        try await connection.send(self.query.framed)
        let length = try await self.next(2, on: connection)
        let bytes = try await self.next(Int(length[0]) << 8 | Int(length[1]), on: connection)
        guard let reply = DNSReply(bytes, to: self.query) else { throw Failure.malformed }
        return reply
    }

    private func next(_ count: Int, on connection: StreamConnection) async throws -> [UInt8] {
        let bytes = try await connection.next(.bytes(count)) ?? []
        guard bytes.count == count else { throw Failure.closed }
        return bytes
    }
}

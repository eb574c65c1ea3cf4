internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Opens TCP connections, each on a socket of its own.
///
/// The caller's thread starts the connect and immediately sees results that the kernel already knows, as for this
/// host's own addresses. One thread, `tg-connect`, waits for all others; it starts with the first of them.
package final class TCPConnector: Sendable {
    /// Why a connect failed.
    package enum Failure: Error, Hashable {
        /// This host has no interface with that name.
        case noInterface(String)
        /// The connect failed (errno(3)).
        ///
        /// `isImmediate` is true if this host refused it within the call, before any other party could answer; `error`
        /// is the ICMP error that arrived at the address `local`.
        case failed(code: Int32, isImmediate: Bool, error: ICMPError? = nil, local: IPAddress? = nil)
        /// No answer arrived in time.
        case timedOut
    }

    private let thread = ExchangeThread<ConnectExchange>(name: "tg-connect")

    /// Creates a connector without a thread.
    package init() {}

    /// Connects; the socket is recorded in `own` before its first packet.
    package func connect(
        _ request: SocketRequest, noting own: OwnSockets? = nil
    ) async throws(Failure) -> ConnectedSocket {
        let exchange = try ConnectExchange(request, noting: own)
        if let result = exchange.result { return ConnectedSocket(try result.get()) }
        return ConnectedSocket(try await self.thread.run(exchange).get())
    }

    /// Ends the open connects as unanswered, then the thread.
    func stop() { self.thread.stop() }
}

/// An established TCP connection, which is closed after its last use.
package struct ConnectedSocket: ~Copyable {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = Glibc.close(self.descriptor) }

    /// Releases the descriptor; the caller must close it.
    package consuming func release() -> Int32 {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }
}

/// A started connect; its socket is closed after every failure.
struct ConnectExchange: SocketExchange {
    typealias Outcome = Result<Int32, TCPConnector.Failure>

    static let (openLimit, bufferSize) = (Int.max, 0)

    let descriptor: Int32
    private let request: SocketRequest

    /// Starts the connect without waiting for it.
    ///
    /// - Throws: An error that this host reports immediately.
    init(_ request: SocketRequest, noting own: OwnSockets?) throws(TCPConnector.Failure) {
        self.request = request
        do throws(LoopError) {
            self.descriptor = try request.open(SOCK_STREAM, noting: own)
        } catch {
            if let name = request.interface, error.operation == "source_interface", error.code == ENODEV {
                throw .noInterface(name)
            }
            throw .failed(code: error.code, isImmediate: true)
        }
    }

    /// The descriptor or the failure; nil while undecided (connect(2), EINPROGRESS).
    var result: Outcome? {
        var entry = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return nil }
        let code = SocketAddress.pendingError(of: self.descriptor)
        guard code != 0 else {
            // An established connection must survive ICMP errors (RFC 1122 4.2.3.9).
            _ = tg_receive_errors(self.descriptor, self.request.address.family.domain, 0)
            return .success(self.descriptor)
        }
        let error = ErrorQueue.drain(self.descriptor)?.refusal
        let local = error == nil ? nil : SocketAddress.local(of: self.descriptor)
        _ = Glibc.close(self.descriptor)
        return .failure(.failed(code: code, isImmediate: false, error: error, local: local))
    }

    var interest: Loop.Interest { .write }

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.limit }

    func open(at _: MonotonicTime) -> Int32 { self.descriptor }

    func ready(_: Int32, into _: inout [UInt8], at _: MonotonicTime) -> ExchangeStep<Outcome> {
        self.result.map { .over($0) } ?? .wait
    }

    func outcome(of failure: LoopError?) -> Outcome {
        _ = Glibc.close(self.descriptor)
        return .failure(failure.map { .failed(code: $0.code, isImmediate: true) } ?? .timedOut)
    }

    // The outcome has closed it already, unless the connection was established.
    func close(_: Int32) {}
}

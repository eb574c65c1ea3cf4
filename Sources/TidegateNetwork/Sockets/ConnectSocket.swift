internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket of TCP whose connection has begun.
struct ConnectSocket {
    /// How far the connection has come.
    enum State {
        case connecting
        case connected
        case failed(code: Int32)
    }

    let descriptor: Int32
    private let family: AddressFamily

    /// Opens the socket, notes it in `own` and asks for the connection, for which it does not wait.
    ///
    /// - Throws: What this host refuses at once.
    init(_ request: TCPConnector.Request, noting own: OwnSockets?) throws(TCPConnector.Failure) {
        self.family = request.address.family
        let family = self.family == .ipv4 ? AF_INET : AF_INET6
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        self.descriptor = socket(family, Int32(kind), 0)
        guard self.descriptor >= 0 else { throw .failed(code: errno, isImmediate: true) }
        own?.insert(tg_socket_cookie(self.descriptor))
        ErrorQueue.open(self.descriptor, self.family)
        do throws(TCPConnector.Failure) {
            try self.connect(request)
        } catch {
            self.close()
            throw error
        }
    }

    private func connect(_ request: TCPConnector.Request) throws(TCPConnector.Failure) {
        if let name = request.interface {
            let code = tg_bind_to_device(self.descriptor, name)
            guard code != ENODEV else { throw .noInterface(name) }
            try Self.check(code)
        }
        if let source = request.source { try Self.check(SocketAddress.bind(self.descriptor, to: source)) }
        let code = SocketAddress.connect(self.descriptor, to: request.address, port: request.port)
        if code != EINPROGRESS { try Self.check(code) }
    }

    private static func check(_ code: Int32) throws(TCPConnector.Failure) {
        guard code == 0 else { throw .failed(code: code, isImmediate: true) }
    }

    /// How far it is now (connect(2), EINPROGRESS).
    var state: State {
        var entry = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return .connecting }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return .failed(code: errno) }
        return code == 0 ? .connected : .failed(code: code)
    }

    /// Who said that there will be no connection, and how; nil if nobody did by ICMP.
    func removeError() -> ICMPError? { ErrorQueue.drain(self.descriptor)?.refusal }

    /// Has a connection that stands outlive ICMP errors, as TCP wants it (RFC 1122 4.2.3.9).
    func ignoreErrors() { _ = tg_receive_errors(self.descriptor, self.family == .ipv4 ? AF_INET : AF_INET6, 0) }

    func close() { _ = Glibc.close(self.descriptor) }
}

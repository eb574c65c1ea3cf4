internal import CLinux
internal import Glibc
package import TidegateCore

/// A socket's peer, how packets to it leave this host, and how long its answer is waited for.
package struct SocketRequest: Sendable, Hashable {
    package var address: IPAddress
    /// The peer's port; 0 for a protocol without ports.
    package var port: UInt16
    /// How long an answer is waited for.
    package var limit: Duration
    /// The address of this host that packets come from; nil leaves that to the kernel.
    package var source: IPAddress?
    /// The only interface that packets may leave by.
    package var interface: String?

    /// A socket whose packets the kernel sends as it likes.
    package init(to address: IPAddress, port: UInt16 = 0, within limit: Duration) {
        self.address = address
        self.port = port
        self.limit = limit
    }
}

/// A step of opening or using a socket failed.
struct SocketFailure: Error {
    let operation: String
    /// The error number (errno(3)).
    let code: Int32

    static func check(_ operation: String, _ code: Int32) throws(SocketFailure) {
        guard code == 0 else { throw SocketFailure(operation: operation, code: code) }
    }
}

extension SocketRequest {
    /// Opens a socket that never blocks, connects it and sends `payload`, if there is one.
    ///
    /// A connection of TCP is noted in `own`, and has only begun.
    func open(
        _ type: __socket_type, sending payload: [UInt8] = [], noting own: OwnSockets? = nil,
        configure: (Int32) throws(SocketFailure) -> Void = { _ in }
    ) throws(SocketFailure) -> Int32 {
        let descriptor = SocketAddress.socket(self.address.family, type)
        guard descriptor >= 0 else { throw SocketFailure(operation: "socket", code: errno) }
        if type == SOCK_STREAM { own?.insert(tg_socket_cookie(descriptor)) }
        try self.connect(descriptor, configure)
        guard payload.isEmpty || send(descriptor, payload, payload.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            let code = errno
            close(descriptor)
            throw SocketFailure(operation: "send", code: code)
        }
        return descriptor
    }

    /// Connects a socket, so that it receives from its peer only (udp(7)); closes it if that fails.
    func connect(
        _ descriptor: Int32, _ configure: (Int32) throws(SocketFailure) -> Void
    ) throws(SocketFailure) {
        ErrorQueue.open(descriptor, self.address.family)
        do throws(SocketFailure) {
            try configure(descriptor)
            if let name = self.interface {
                try SocketFailure.check("source_interface", tg_bind_to_device(descriptor, name))
            }
            if let source = self.source { try SocketFailure.check("bind", SocketAddress.bind(descriptor, to: source)) }
            let code = SocketAddress.connect(descriptor, to: self.address, port: self.port)
            if code != EINPROGRESS { try SocketFailure.check("connect", code) }
        } catch {
            close(descriptor)
            throw error
        }
    }
}

internal import CLinux
internal import CNetlink
internal import Glibc
package import TidegateCore
internal import TidegateLoop

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

    /// Opens a socket that never blocks, connects it and sends `payload`, if there is one.
    ///
    /// A connection of TCP is noted in `own`, and has only begun. A socket may be `given` that is opened already.
    func open(
        _ type: __socket_type, _ given: Int32? = nil, sending payload: [UInt8] = [], noting own: OwnSockets? = nil,
        configure: (Int32) throws(LoopError) -> Void = { _ in }
    ) throws(LoopError) -> Int32 {
        let descriptor = given ?? SocketAddress.socket(self.address.family, type)
        guard descriptor >= 0 else { throw LoopError(operation: "socket", code: errno) }
        if type == SOCK_STREAM { own?.insert(tg_socket_cookie(descriptor)) }
        try self.connect(descriptor, configure)
        guard payload.isEmpty || send(descriptor, payload, payload.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            let code = errno
            close(descriptor)
            throw LoopError(operation: "send", code: code)
        }
        return descriptor
    }

    /// Connects a socket, so that it receives from its peer only (udp(7)); closes it if that fails.
    func connect(
        _ descriptor: Int32, _ configure: (Int32) throws(LoopError) -> Void
    ) throws(LoopError) {
        // If the kernel does not support ICMP errors for this socket, outcomes only have less detail.
        _ = tg_receive_errors(descriptor, self.address.family.domain, 1)
        do throws(LoopError) {
            try configure(descriptor)
            if let name = self.interface {
                try LoopError.check("source_interface", tg_bind_to_device(descriptor, name))
            }
            if let source = self.source { try LoopError.check("bind", SocketAddress.bind(descriptor, to: source)) }
            let code = SocketAddress.connect(descriptor, to: self.address, port: self.port)
            if code != EINPROGRESS { try LoopError.check("connect", code) }
        } catch {
            close(descriptor)
            throw error
        }
    }
}

extension LoopError {
    /// Throws the error of a system call unless `code` is 0.
    static func check(_ operation: String, _ code: Int32) throws(LoopError) {
        guard code == 0 else { throw LoopError(operation: operation, code: code) }
    }
}

extension SocketAddress {
    /// Opens a socket that never blocks (socket(2)); the descriptor, or -1 with errno.
    static func socket(_ family: AddressFamily, _ type: __socket_type, _ number: Int32 = 0) -> Int32 {
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        return Glibc.socket(family.domain, Int32(type.rawValue | flags), number)
    }

    /// The error that a socket has met with (SO_ERROR in socket(7)); 0 for none.
    static func pendingError(of descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }
}

extension AddressFamily {
    /// AF_INET or AF_INET6.
    var domain: Int32 { self == .ipv4 ? AF_INET : AF_INET6 }
}

/// The interfaces of this host by their names.
package enum NetworkInterface {
    /// The index of an interface (if_nametoindex(3)); nil if no interface has that name.
    package static func index(of name: String) -> UInt32? {
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }

    /// Why no packet leaves by an interface; nil if packets do, or if no interface has that name.
    package static func fault(of name: String) -> UnreachableReason? {
        let descriptor = SocketAddress.socket(.ipv4, SOCK_DGRAM)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let flags = tg_interface_flags(descriptor, name)
        guard flags >= 0 else { return nil }
        // Switched on, and in a state to send (netdevice(7)); the kernel would send into the void otherwise.
        guard flags & Int32(IFF_UP) != 0 else { return .adminDown }
        return flags & Int32(IFF_RUNNING) != 0 ? nil : .noCarrier
    }

    /// True if the kernel would have packets to an address leave by an interface; no packet is sent.
    package static func routes(to address: IPAddress, by name: String) -> Bool {
        let descriptor = SocketAddress.socket(address.family, SOCK_DGRAM)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Of a datagram socket this only looks the route up; any port will do.
        return tg_bind_to_device(descriptor, name) == 0
            && SocketAddress.connect(descriptor, to: address, port: 9) == 0
    }
}

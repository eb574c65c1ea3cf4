internal import CLinux
internal import CNetlink
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// The peer of a socket, the local end, and how long to wait for an answer.
package struct SocketRequest: Sendable, Hashable {
    package var address: IPAddress
    /// The peer's port; 0 for a protocol without ports.
    package var port: UInt16
    /// How long to wait for an answer.
    package var limit: Duration
    /// The source address; nil leaves it to the kernel.
    package var source: IPAddress?
    /// The only interface that packets may use.
    package var interface: String?
    /// Whether the socket is a probe's, which leaves descriptors for a diagnosis of its failure.
    package var isCheck = false

    /// Creates a request with the kernel's default settings.
    package init(to address: IPAddress, port: UInt16 = 0, within limit: Duration) {
        self.address = address
        self.port = port
        self.limit = limit
    }

    /// Opens a nonblocking socket, connects it and sends `payload`, if there is one.
    ///
    /// A TCP connect is only started, and its socket is recorded in `own`. `given` may be a socket that is already
    /// open.
    func open(
        _ type: __socket_type, _ given: Int32? = nil, sending payload: [UInt8] = [], noting own: OwnSockets? = nil,
        configure: (Int32) throws(LoopError) -> Void = { _ in }
    ) throws(LoopError) -> Int32 {
        let descriptor = given ?? self.socket(type)
        guard descriptor >= 0 else { throw LoopError(operation: "socket", code: errno) }
        if type == SOCK_STREAM { own?.insert(tg_socket_cookie(descriptor)) }
        try self.connect(descriptor, type, configure)
        guard payload.isEmpty || send(descriptor, payload, payload.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            let code = errno
            close(descriptor)
            throw LoopError(operation: "send", code: code)
        }
        return descriptor
    }

    /// Opens a nonblocking socket within its share of descriptors; returns -1 with errno set on failure.
    func socket(_ type: __socket_type, _ number: Int32 = 0) -> Int32 {
        DescriptorShortage.bounded(
            SocketAddress.socket(self.address.family, type, number), self.isCheck ? .check : .task)
    }

    /// Connects a socket, so that it only receives from its peer (udp(7)); closes it on failure.
    func connect(
        _ descriptor: Int32, _ type: __socket_type, _ configure: (Int32) throws(LoopError) -> Void
    ) throws(LoopError) {
        // If the kernel does not support ICMP errors for this socket, outcomes only have less detail.
        if type == SOCK_STREAM { _ = tg_receive_errors(descriptor, self.address.family.domain, 1) }
        do throws(LoopError) {
            try configure(descriptor)
            if let name = self.interface {
                try LoopError.check("source_interface", tg_bind_to_device(descriptor, name))
            }
            if let source = self.source { try LoopError.check("bind", SocketAddress.bind(descriptor, to: source)) }
            let code = SocketAddress.connect(descriptor, to: self.address, port: self.port)
            if code != EINPROGRESS { try LoopError.check("connect", code) }
            // connect(2) binds the port first, and then an ICMP error about any peer would count.
            if type != SOCK_STREAM { _ = tg_receive_errors(descriptor, self.address.family.domain, 1) }
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
    /// Opens a nonblocking socket (socket(2)); returns the descriptor, or -1 with errno set.
    static func socket(_ family: AddressFamily, _ type: __socket_type, _ number: Int32 = 0) -> Int32 {
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        return Glibc.socket(family.domain, Int32(type.rawValue | flags), number)
    }

    /// Takes a socket's pending error (SO_ERROR in socket(7)); 0 if none is pending.
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

/// The interfaces of this host by name.
package enum NetworkInterface {
    /// The index of an interface (if_nametoindex(3)); nil if no interface has that name.
    package static func index(of name: String) -> UInt32? {
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }

    /// Why an interface sends no packets; nil if it does, or if no interface has that name.
    package static func fault(of name: String) -> UnreachableReason? {
        let descriptor = SocketAddress.socket(.ipv4, SOCK_DGRAM)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let flags = tg_interface_flags(descriptor, name)
        guard flags >= 0 else { return nil }
        // Up and in a state to send (netdevice(7)); otherwise the kernel would drop the packets silently.
        guard flags & Int32(IFF_UP) != 0 else { return .adminDown }
        return flags & Int32(IFF_RUNNING) != 0 ? nil : .noCarrier
    }

    /// True if the kernel would send packets for an address through an interface; sends no packet.
    package static func routes(to address: IPAddress, by name: String) -> Bool {
        let descriptor = SocketAddress.socket(address.family, SOCK_DGRAM)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Connecting a datagram socket only looks up the route; any port will do.
        return tg_bind_to_device(descriptor, name) == 0
            && SocketAddress.connect(descriptor, to: address, port: 9) == 0
    }
}

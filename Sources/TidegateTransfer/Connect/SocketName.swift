internal import CLinux
internal import Glibc
internal import TidegateCore

/// Addresses as system calls write them (`sockaddr_in`, `sockaddr_in6`).
enum SocketName {
    /// The local address of a socket; nil if it has none yet.
    static func localAddress(of descriptor: Int32) -> IPAddress? {
        guard let name = self.local(descriptor), let address = self.address(in: name) else { return nil }
        return address.isUnspecified ? nil : address
    }

    /// The local port of a socket; nil if it has none.
    static func localPort(of descriptor: Int32) -> UInt16? {
        // The port stands at the same position in both families' addresses.
        self.local(descriptor).map { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }

    /// The address in a name; nil if it is no internet address.
    static func address(in name: [UInt8]) -> IPAddress? {
        guard name.count >= 16 else { return nil }
        let family = name.withUnsafeBytes { $0.loadUnaligned(as: sa_family_t.self) }
        switch Int32(family) {
        case AF_INET: return IPAddress(octets: name[4..<8])
        case AF_INET6 where name.count >= 28:
            let zone = name.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 24, as: UInt32.self) }
            return IPAddress(octets: name[8..<24], zone: zone)
        default: return nil
        }
    }

    /// Has a socket send from an address (bind(2)), whose port is chosen when it connects; 0 or the error number.
    static func bind(_ descriptor: Int32, to address: IPAddress) -> Int32 {
        var isOn: Int32 = 1
        // Otherwise a port would be used up for all targets; without it there are only fewer of them.
        _ = setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &isOn, socklen_t(4))
        switch address.family {
        case .ipv4:
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            withUnsafeMutableBytes(of: &name.sin_addr) { $0.copyBytes(from: address.octets) }
            return self.bind(descriptor, to: &name)
        case .ipv6:
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_scope_id = address.zone
            withUnsafeMutableBytes(of: &name.sin6_addr) { $0.copyBytes(from: address.octets) }
            return self.bind(descriptor, to: &name)
        }
    }

    private static func bind<Name>(_ descriptor: Int32, to name: inout Name) -> Int32 {
        withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Name>.size)) == 0 ? 0 : errno
            }
        }
    }

    // getsockname(2); nil if it fails.
    private static func local(_ descriptor: Int32) -> [UInt8]? {
        var name = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var length = socklen_t(name.count)
        let result = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        guard result == 0, length >= 16 else { return nil }
        return Array(name.prefix(Int(length)))
    }
}

extension AttemptSource {
    /// Has the connection of a new socket leave so; 0 or the error number (errno(3)).
    func apply(to descriptor: Int32) -> Int32 {
        if let name = self.interface, case let code = tg_bind_to_device(descriptor, name), code != 0 { return code }
        return self.address.map { SocketName.bind(descriptor, to: $0) } ?? 0
    }
}

/// Watches idle connections, and ends them in a way that libcurl notices.
enum IdleSocket {
    /// Whether bytes, an error or the end of the stream wait on a connection, which has to be silent while it is idle.
    static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Closes the connection of a socket; from now on reading from its descriptor gives the end of the stream.
    ///
    /// Before libcurl uses an idle connection again it peeks: 0 bytes are a closed connection, anything else a usable
    /// one, an error like ECONNRESET included. A socket that was only shut down gets that error when its peer sends
    /// more, so another socket takes its place, one whose peer is gone. The number stays open and is libcurl's.
    static func end(_ descriptor: Int32) {
        // What comes from now on is reset, if there is no descriptor for the other socket.
        shutdown(descriptor, Int32(SHUT_RDWR))
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return self.discardReceived(descriptor) }
        close(ends[1])
        // Of a failure nothing is left to do: the connection is shut down.
        _ = dup3(ends[0], descriptor, O_CLOEXEC)
        close(ends[0])
    }

    // With MSG_TRUNC TCP drops the bytes without copying them (tcp(7)); a receive buffer has fewer than this.
    private static func discardReceived(_ descriptor: Int32) {
        while recv(descriptor, nil, 64 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT)) > 0 {}
    }
}

/// The open sockets of a pool by their local ports: before a request, libcurl passes its local port, and its socket only
/// afterwards.
struct LocalPorts {
    private var sockets: [(descriptor: Int32, port: UInt16)] = []
    /// Those whose ports are known and no other socket's.
    private var byPort = IntegerMap<Int32>()
    private var hasUnnamed = false

    /// A socket was opened.
    mutating func opened(_ descriptor: Int32) {
        // libcurl may have closed another one with this number without a callback.
        self.closed(descriptor)
        self.sockets.append((descriptor, 0))
        self.hasUnnamed = true
    }

    /// A socket was closed.
    mutating func closed(_ descriptor: Int32) {
        guard let index = self.sockets.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        self.index(self.sockets.remove(at: index).port)
    }

    /// The socket with a local port; nil if it is not known, or several to different hosts share the port.
    mutating func socket(at port: UInt16) -> Int32? {
        if self.hasUnnamed { self.name() }
        return self.byPort[UInt64(port)]
    }

    // A socket has no port before its connect, and then keeps the one it has.
    private mutating func name() {
        self.hasUnnamed = false
        for index in self.sockets.indices where self.sockets[index].port == 0 {
            guard let port = SocketName.localPort(of: self.sockets[index].descriptor), port != 0 else {
                self.hasUnnamed = true
                continue
            }
            self.sockets[index].port = port
            self.index(port)
        }
    }

    private mutating func index(_ port: UInt16) {
        guard port != 0 else { return }
        let equals = self.sockets.filter { $0.port == port }
        self.byPort[UInt64(port)] = equals.count == 1 ? equals[0].descriptor : nil
    }
}

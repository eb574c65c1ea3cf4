internal import CLinux
internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Conversions of addresses for system calls.
enum SocketAddress {
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

    /// Connects a socket (connect(2)); 0 or the error number.
    static func connect(_ descriptor: Int32, to address: IPAddress, port: UInt16) -> Int32 {
        self.pass(address, port) { Glibc.connect(descriptor, $0, $1) }
    }

    /// Has a socket send from an address of this host (bind(2)); 0 or the error number.
    static func bind(_ descriptor: Int32, to address: IPAddress) -> Int32 {
        self.pass(address, 0) { Glibc.bind(descriptor, $0, $1) }
    }

    private typealias Call = (UnsafePointer<sockaddr>, socklen_t) -> Int32

    private static func pass(_ address: IPAddress, _ port: UInt16, to call: Call) -> Int32 {
        switch address.family {
        case .ipv4:
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: address.octets) }
            return self.pass(&target, to: call)
        case .ipv6:
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port.bigEndian
            target.sin6_scope_id = address.zone
            withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: address.octets) }
            return self.pass(&target, to: call)
        }
    }

    /// The local address of a socket (getsockname(2)); nil if it has none.
    static func local(of descriptor: Int32) -> IPAddress? {
        var name = [UInt8](repeating: 0, count: self.size)
        var length = socklen_t(name.count)
        let result = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        return result == 0 ? self.address(in: name) : nil
    }

    /// How many bytes an address of either family takes as the kernel writes it.
    static let size = MemoryLayout<sockaddr_in6>.size

    /// The address in what the kernel wrote, without its zone; nil if it is of no family of IP.
    static func address(in name: [UInt8]) -> IPAddress? {
        // Four octets after family and port, or sixteen after the flow label as well.
        switch Int32(name[0]) | Int32(name[1]) << 8 {
        case AF_INET: IPAddress(octets: name[4..<8])
        case AF_INET6: IPAddress(octets: name[8..<24])
        default: nil
        }
    }

    private static func pass<Address>(_ address: inout Address, to call: Call) -> Int32 {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, size) == 0 ? 0 : errno }
        }
    }
}

extension AddressFamily {
    /// AF_INET or AF_INET6.
    var domain: Int32 { self == .ipv4 ? AF_INET : AF_INET6 }
}

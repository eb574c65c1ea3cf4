internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Conversions of addresses for system calls.
enum SocketAddress {
    /// Connects a socket (connect(2)); 0 or the error number.
    static func connect(_ descriptor: Int32, to address: IPAddress, port: UInt16) -> Int32 {
        switch address.family {
        case .ipv4:
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: address.octets) }
            return self.connect(descriptor, &target)
        case .ipv6:
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port.bigEndian
            target.sin6_scope_id = address.zone
            withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: address.octets) }
            return self.connect(descriptor, &target)
        }
    }

    /// The local address of a socket (getsockname(2)); nil if it has none.
    static func local(of descriptor: Int32) -> IPAddress? {
        var name = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_in6>.size)
        var length = socklen_t(name.count)
        let result = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        guard result == 0, Int(length) <= name.count else { return nil }
        // Four octets after family and port, or sixteen after the flow label as well.
        return IPAddress(octets: Int(length) < name.count ? name[4..<8] : name[8..<24])
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size) == 0 ? 0 : errno
            }
        }
    }
}

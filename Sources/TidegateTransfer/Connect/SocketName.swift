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

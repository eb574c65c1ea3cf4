internal import Glibc
internal import TidegateCore

/// The port on our side of a socket.
enum LocalPort {
    /// The port; nil where the socket has none (getsockname(2)).
    static func of(_ descriptor: Int32) -> UInt16? {
        // The port stands at the same place in both families' addresses.
        SocketName.local(descriptor).map { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }
}

/// The address on our side of a socket.
enum LocalAddress {
    /// The address; nil where the socket has none yet.
    static func of(_ descriptor: Int32) -> IPAddress? {
        guard let name = SocketName.local(descriptor), let address = SocketName.address(in: name) else { return nil }
        return address.isUnspecified ? nil : address
    }
}

/// Addresses as system calls write them (`sockaddr_in`, `sockaddr_in6`).
enum SocketName {
    /// What getsockname(2) says, as long as it says; nil where it fails.
    static func local(_ descriptor: Int32) -> [UInt8]? {
        var name = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var length = socklen_t(name.count)
        let result = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        guard result == 0, length >= 16 else { return nil }
        return Array(name.prefix(Int(length)))
    }

    /// The address in it; nil where it is no internet address.
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
}

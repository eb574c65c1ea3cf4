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

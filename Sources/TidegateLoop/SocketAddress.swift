internal import CLinux
internal import Glibc
package import TidegateCore

/// Socket addresses in the layout of system calls (`sockaddr_in`, `sockaddr_in6`).
package enum SocketAddress {
    /// Connects a socket (connect(2)); 0 or the error number.
    package static func connect(_ descriptor: Int32, to address: IPAddress, port: UInt16) -> Int32 {
        self.pass(address, port) { Glibc.connect(descriptor, $0, $1) }
    }

    /// Makes a socket send from an address of this host (bind(2)); 0 or the error number.
    package static func bind(_ descriptor: Int32, to address: IPAddress) -> Int32 {
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

    private static func pass<Address>(_ address: inout Address, to call: Call) -> Int32 {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, size) == 0 ? 0 : errno }
        }
    }

    /// The local address of a socket, without its zone; nil if it has none.
    package static func local(of descriptor: Int32) -> IPAddress? {
        self.name(of: descriptor).flatMap(self.address)?.withoutZone
    }

    /// The room that an address of either family needs, in bytes.
    package static let size = MemoryLayout<sockaddr_in6>.size

    /// The local address of a socket in the kernel's layout (getsockname(2)); nil if it has none.
    package static func name(of descriptor: Int32) -> [UInt8]? {
        var name = [UInt8](repeating: 0, count: self.size)
        var length = socklen_t(name.count)
        let result = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        return result == 0 && length >= 16 ? name : nil
    }

    /// The port of an address in the kernel's layout.
    package static func port(in name: [UInt8]) -> UInt16 { UInt16(name[2]) << 8 | UInt16(name[3]) }

    /// Parses an address in the kernel's layout; nil if its family is not IP.
    package static func address(in name: [UInt8]) -> IPAddress? {
        guard name.count >= 16 else { return nil }
        // The address follows the port in IPv4 (4 octets) and the flow label in IPv6 (16 octets).
        switch Int32(name.withUnsafeBytes { $0.loadUnaligned(as: sa_family_t.self) }) {
        case AF_INET: return IPAddress(octets: name[4..<8])
        case AF_INET6 where name.count >= self.size:
            let zone = name.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 24, as: UInt32.self) }
            return IPAddress(octets: name[8..<24], zone: zone)
        default: return nil
        }
    }
}

/// A socket's error queue (IP_RECVERR in ip(7)).
package enum ErrorQueue {
    /// Empties the queue and returns its last error.
    ///
    /// - Parameter counts: Whether to consider an error about a packet that starts with these bytes.
    package static func drain(
        _ descriptor: Int32, where counts: (ExtendedSocketError, _ packet: ArraySlice<UInt8>) -> Bool = { _, _ in true }
    ) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        var packet = [UInt8](repeating: 0, count: 64)
        // Bounded, in case errors arrive faster than this reads them.
        for _ in 0..<64 {
            var size = packet.count
            let count = tg_take_error(descriptor, &packet, &size, &control, control.count)
            guard count >= 0 else { break }
            guard let error = ExtendedSocketError(control: Array(control.prefix(count))),
                counts(error, packet.prefix(size))
            else { continue }
            last = error
        }
        return last
    }
}

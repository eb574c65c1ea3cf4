internal import Glibc
internal import Synchronization

/// An IPv6 router inside a namespace: it sends router advertisements (RFC 4861) on request.
package final class NetworkNamespaceRouter: Sendable {
    private let descriptor: Int32
    private let interface: UInt32

    /// A router that advertises itself on `interface` of `namespace`, by one of the link-local addresses there.
    package init(_ address: String, on interface: String, in namespace: NetworkNamespace) throws {
        let opened = Atomic<Int32>(-1)
        let index = Atomic<UInt32>(0)
        try namespace.inside {
            index.store(if_nametoindex(interface), ordering: .releasing)
            opened.store(socket(AF_INET6, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 58), ordering: .releasing)
        }
        self.descriptor = opened.load(ordering: .acquiring)
        self.interface = index.load(ordering: .acquiring)
        guard self.descriptor >= 0 else { throw CommandFailure(description: "no raw ICMPv6 socket") }
        // Only the router that advertised a default route can withdraw it.
        guard self.with(address, { bind(self.descriptor, $0, $1) }) == 0 else {
            throw CommandFailure(description: "\(address) is not on \(interface): \(errno)")
        }
        // Hosts ignore advertisements that may have passed a router (IPV6_MULTICAST_HOPS, then IPV6_MULTICAST_IF).
        try self.set(18, 255)
        try self.set(17, Int32(self.interface))
    }

    deinit { close(self.descriptor) }

    /// Advertises this router as a default router for so many seconds; 0 withdraws it.
    package func advertise(lifetime seconds: UInt16) throws {
        // Type 134, hop limit 64, no flags, the lifetime; other times unspecified. The kernel adds the checksum.
        let message: [UInt8] =
            [134, 0, 0, 0, 64, 0, UInt8(seconds >> 8), UInt8(seconds & 0xFF)] + [UInt8](repeating: 0, count: 8)
        let sent = self.with("ff02::1") { sendto(self.descriptor, message, message.count, 0, $0, $1) }
        guard sent == message.count else { throw CommandFailure(description: "router advertisement: \(errno)") }
    }

    private func with<Result>(_ text: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_scope_id = self.interface
        _ = inet_pton(AF_INET6, text, &address.sin6_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    private func set(_ option: Int32, _ value: Int32) throws {
        var value = value
        guard setsockopt(self.descriptor, 41, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw CommandFailure(description: "setsockopt \(option): \(errno)")
        }
    }
}

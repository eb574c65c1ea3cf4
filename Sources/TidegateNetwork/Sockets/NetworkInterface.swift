internal import CLinux
internal import Glibc
package import TidegateCore

/// The interfaces of this host by their names.
package enum NetworkInterface {
    /// The index of an interface (if_nametoindex(3)); nil if there is none of that name.
    package static func index(of name: String) -> Int? {
        SystemFiles.interfaceIndex(of: name).map(Int.init)
    }

    /// Why no packet leaves by an interface; nil if packets do, or if there is none of that name.
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

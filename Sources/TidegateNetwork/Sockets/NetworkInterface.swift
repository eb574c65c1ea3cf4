internal import CLinux
internal import Glibc
package import TidegateCore

/// The interfaces of this host by their names.
package enum NetworkInterface {
    /// The index of an interface (if_nametoindex(3)); nil if there is none of that name.
    package static func index(of name: String) -> Int? {
        let index = if_nametoindex(name)
        return index == 0 ? nil : Int(index)
    }

    /// True if the kernel would have packets to an address leave by an interface; no packet is sent.
    package static func routes(to address: IPAddress, by name: String) -> Bool {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Of a datagram socket this only looks the route up; any port will do.
        return tg_bind_to_device(descriptor, name) == 0
            && SocketAddress.connect(descriptor, to: address, port: 9) == 0
    }
}

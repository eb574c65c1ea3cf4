internal import Glibc
internal import Synchronization

/// A listening TCP port inside a namespace, in both families, that never answers; closed when it is released.
package final class NetworkNamespaceListener: Sendable {
    private let descriptor: Int32

    /// Listens on a port of every address inside `namespace`.
    package init(port: UInt16, in namespace: NetworkNamespace) throws {
        let opened = Atomic<Int32>(-1)
        try namespace.inside { opened.store(NetworkNamespaceListener.open(port), ordering: .releasing) }
        self.descriptor = opened.load(ordering: .acquiring)
        guard self.descriptor >= 0 else { throw CommandFailure(description: "port \(port) cannot be listened on") }
    }

    deinit { close(self.descriptor) }

    private static func open(_ port: UInt16) -> Int32 {
        // Bound to ::, an IPv6 socket accepts IPv4 connections as well.
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        guard isBound, listen(descriptor, 64) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

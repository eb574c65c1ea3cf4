internal import Glibc

/// The port on our side of a socket.
enum LocalPort {
    /// The port; nil where the socket has none (getsockname(2)).
    static func of(_ descriptor: Int32) -> UInt16? {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        // The port stands at the same place in both families' addresses.
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
    }
}

package import Glibc

/// The names of Unix sockets (unix(7)).
package enum UnixSocketName {
    /// Calls bind(2) or connect(2) with the name that a path is; the result of the call.
    package static func pass(_ path: String, to call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

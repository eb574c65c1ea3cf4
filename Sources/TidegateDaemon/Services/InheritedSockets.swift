internal import Glibc
internal import TidegateCore
internal import TidegateLoop
internal import TidegateServer

/// The listening sockets that the service manager passed to this process (sd_listen_fds(3)).
struct InheritedSockets: Sendable, Hashable {
    /// A Unix socket.
    struct Control: Sendable, Hashable {
        let path: String
        let descriptor: CInt
    }

    /// Where the endpoint listens; empty if the manager passed no such socket.
    private(set) var addresses: [ListenAddress] = []
    private(set) var control: Control?

    // SD_LISTEN_FDS_START
    private static let first: CInt = 3

    /// The sockets that an environment announces to `process`.
    ///
    /// - Throws: ``TextError`` that names the descriptor with which nothing can be done.
    init(environment: (String) -> String?, process: Int32 = getpid()) throws(TextError) {
        guard environment("LISTEN_PID") == "\(process)",
            let count = environment("LISTEN_FDS").flatMap({ CInt($0) }), (1...1024).contains(count)
        else { return }
        for descriptor in Self.first..<Self.first + count {
            // Programs that the daemon starts must not keep it open.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            try self.add(descriptor)
        }
    }

    private mutating func add(_ descriptor: CInt) throws(TextError) {
        guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
            Self.option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
        else { throw TextError("descriptor \(descriptor) of LISTEN_FDS is not a listening stream socket") }
        if let name = SocketAddress.name(of: descriptor), let address = SocketAddress.address(in: name) {
            let port = Int(SocketAddress.port(in: name))
            self.addresses.append(ListenAddress(host: "\(address)", port: port, descriptor: descriptor))
        } else if let path = Self.path(of: descriptor) {
            guard self.control == nil else { throw TextError("LISTEN_FDS has two Unix sockets, and one is used") }
            self.control = Control(path: path, descriptor: descriptor)
        } else {
            throw TextError("descriptor \(descriptor) of LISTEN_FDS is not a TCP socket or a Unix socket with a path")
        }
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var (value, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    // Nil for an abstract name, whose first byte is 0 (unix(7)).
    private static func path(of descriptor: CInt) -> String? {
        var name = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard result == 0, name.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let path = withUnsafeBytes(of: name.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return path.isEmpty ? nil : path
    }
}

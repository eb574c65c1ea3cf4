internal import Glibc

/// The sockets of this process that connect it with others.
enum InternetSockets {
    /// Has all of them closed in the programs that are started from now on.
    ///
    /// SwiftNIO accepts connections without SOCK_CLOEXEC: a program that had them would keep them open after the server
    /// under test has closed them. Other descriptors stay: by one of its own Foundation learns that a program has ended.
    static func closeOnExec() {
        guard let folder = opendir("/proc/self/fd") else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            // In its place: a copy would read past the buffer that the entry is the last one of.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let descriptor = Int32(name) else { continue }
            var domain: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0,
                domain == AF_INET || domain == AF_INET6
            else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }
}

internal import Glibc

/// A listening socket whose backlog is full, so that further connections hang.
final class DeafListener {
    let port: UInt16
    private var descriptors: [Int32] = []

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptors = [listener]
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 0) == 0 ? getsockname(listener, $0, &length) : -1
            }
        }
        guard result == 0 else { throw NothingCame(description: "no listener: error \(errno)") }
        self.port = UInt16(bigEndian: name.sin_port)
        for _ in 0..<3 {
            let client = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
            self.descriptors.append(client)
            _ = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
            }
        }
        usleep(20_000)
    }

    deinit { for descriptor in self.descriptors { close(descriptor) } }
}

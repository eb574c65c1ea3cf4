internal import CNetlink
internal import Glibc

/// Keeps the calling thread in a named network namespace (ip-netns(8)).
///
/// A thread and its sockets keep a namespace alive after its name is deleted, and with it the peers of its links. The
/// thread must therefore leave when the name is deleted.
final class NetworkNamespaceGuard {
    private let path: String
    private let home: Int32
    private let device: UInt
    private let inode: UInt

    /// Moves the calling thread into the namespace.
    init(entering path: String) throws(NetlinkError) {
        let target = open(path, O_RDONLY | O_CLOEXEC)
        guard target >= 0 else { throw NetlinkError(operation: "entering the namespace \(path)", errno: errno) }
        defer { close(target) }
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        guard home >= 0 else { throw NetlinkError(operation: "opening the thread's namespace", errno: errno) }
        var identity = stat()
        guard fstat(target, &identity) == 0, tg_join_network(target) == 0 else {
            let code = errno
            close(home)
            throw NetlinkError(operation: "entering the namespace \(path)", errno: code)
        }
        self.path = path
        self.home = home
        self.device = UInt(identity.st_dev)
        self.inode = UInt(identity.st_ino)
    }

    deinit { close(self.home) }

    /// True once the name was deleted, or belongs to another namespace.
    var isDeleted: Bool {
        var now = stat()
        guard stat(self.path, &now) == 0 else { return true }
        return UInt(now.st_dev) != self.device || UInt(now.st_ino) != self.inode
    }

    /// Moves the calling thread back to the namespace it came from.
    func leave() throws(NetlinkError) {
        guard tg_join_network(self.home) == 0 else {
            throw NetlinkError(operation: "leaving the namespace \(self.path)", errno: errno)
        }
    }
}

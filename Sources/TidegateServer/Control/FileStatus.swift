internal import CLinux

/// What the kernel knows about a file (stat(2)).
struct FileStatus: Sendable {
    let isSocket: Bool
    let group: UInt32
    let device: UInt64
    let inode: UInt64

    /// The file at a path; nil with `errno` if there is none, or if it cannot be looked up.
    init?(path: String, followsLinks: Bool) {
        var isSocket: CInt = 0
        var (group, device, inode): (UInt32, UInt64, UInt64) = (0, 0, 0)
        guard tg_file_status(path, followsLinks ? 1 : 0, &isSocket, &group, &device, &inode) == 0 else { return nil }
        self.isSocket = isSocket != 0
        self.group = group
        self.device = device
        self.inode = inode
    }
}

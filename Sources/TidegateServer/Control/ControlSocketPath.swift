internal import CLinux
internal import Glibc
internal import Hummingbird
internal import NIOCore
internal import TidegateCore

/// The path of a Unix socket in the file system.
struct ControlSocketPath: Sendable {
    let path: String

    /// Makes the directory for a new socket, and removes a stale socket on which no process listens.
    ///
    /// - Throws: ``TextError`` if a process listens there, or if the file is not a socket.
    func prepare() throws(TextError) {
        guard self.path.utf8.count < 108 else {
            throw TextError("the path of the control socket \(self.path) is longer than 107 bytes")
        }
        try self.makeDirectory()
        guard let status = FileStatus(path: self.path, followsLinks: false) else {
            guard errno == ENOENT else { throw self.error(errno) }
            return
        }
        guard status.isSocket else {
            throw TextError("\(self.path) exists and is not a socket")
        }
        guard !(try self.isLive()) else {
            throw TextError("another daemon listens on the control socket \(self.path)")
        }
        guard unlink(self.path) == 0 || errno == ENOENT else { throw self.error(errno) }
    }

    /// Lets only the owner and the group connect.
    func restrict() throws(TextError) {
        guard chmod(self.path, 0o660) == 0 else { throw self.error(errno) }
    }

    /// Distinguishes the socket from one that another daemon has created at the same path.
    struct Identity: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// The identity of the socket at the path; nil without one.
    var identity: Identity? {
        guard let status = FileStatus(path: self.path, followsLinks: false), status.isSocket else { return nil }
        return Identity(device: status.device, inode: status.inode)
    }

    /// Removes the socket if it still has this identity.
    func remove(_ own: Identity?) {
        if let own, own == self.identity { unlink(self.path) }
    }

    private func makeDirectory() throws(TextError) {
        guard let slash = self.path.lastIndex(of: "/"), slash != self.path.startIndex else { return }
        let directory = String(self.path[..<slash])
        var made = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o755) == 0 || errno == EEXIST else { throw self.error(errno) }
        }
    }

    private func isLive() throws(TextError) -> Bool {
        // Non-blocking: a daemon that is too busy to accept must not block this one.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, Int32(kind), 0)
        guard descriptor >= 0 else { throw self.error(errno) }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // Any other error, such as a full queue or a missing permission, may hide a listener. Only a refused connection
        // proves that no process listens.
        return result == 0 || (errno != ECONNREFUSED && errno != ENOENT)
    }

    private func error(_ code: Int32) -> TextError {
        TextError("cannot listen on the control socket \(self.path): \(SystemError.message(code))")
    }
}

/// A file's attributes from the kernel (stat(2)).
struct FileStatus: Sendable {
    let isSocket: Bool
    let group: UInt32
    let device: UInt64
    let inode: UInt64

    /// The file at a path; nil with `errno` set if it does not exist or cannot be looked up.
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

/// Checks the users of the control socket: root, the daemon's own user, and members of the socket's group.
struct PeerVerification: Sendable {
    /// The process at the other end (SO_PEERCRED and SO_PEERGROUPS in unix(7)).
    struct Peer: Sendable, Hashable {
        var user: UInt32
        /// The effective group and the supplementary groups.
        var groups: [UInt32]
    }

    let ownUser: UInt32
    let path: String

    /// The socket's group is read each time, so that chgrp(1) takes effect immediately.
    func allows(_ peer: Peer) -> Bool {
        if self.isOwner(peer) { return true }
        guard let status = FileStatus(path: self.path, followsLinks: true) else { return false }
        return self.allows(peer, group: status.group)
    }

    func allows(_ peer: Peer, group: UInt32) -> Bool {
        self.isOwner(peer) || peer.groups.contains(group)
    }

    /// True for root and the daemon's own user, who may use any file.
    func isOwner(_ peer: Peer) -> Bool { peer.user == 0 || peer.user == self.ownUser }

    /// The peer of a channel; nil if the kernel cannot identify it.
    static func peer(of channel: any Channel) async -> Peer? {
        try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                PeerVerification.peer(of: $0)
            } ?? nil
        }.get()
    }

    /// The peer of a connected socket; nil if the kernel cannot identify it.
    static func peer(of descriptor: Int32) -> Peer? {
        var (user, group): (UInt32, UInt32) = (0, 0)
        guard tg_peer_credentials(descriptor, &user, &group) == 0 else { return nil }
        var groups = [UInt32](repeating: 0, count: 256)
        let count = tg_peer_groups(descriptor, &groups, Int32(groups.count))
        return Peer(user: user, groups: [group] + groups.prefix(Int(max(0, count))))
    }
}

/// Forwards requests from peers that may use the control socket.
struct PeerMiddleware: RouterMiddleware {
    let verification: PeerVerification

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        guard let peer = await PeerVerification.peer(of: context.channel), self.verification.allows(peer) else {
            let message =
                "permission denied: the control socket is for root, the daemon's user and members of the socket's group"
            return .problem(.forbidden, message, format: .json)
        }
        var context = context
        context.caller = self.verification.isOwner(peer) ? .owner : .member
        return try await next(request, context)
    }
}

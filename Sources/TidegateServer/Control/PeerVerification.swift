internal import CLinux
internal import Hummingbird
internal import NIOCore
internal import TidegateCore

/// The users of the control socket: root, the daemon's own user, and members of the socket's group.
struct PeerVerification: Sendable {
    /// The process at the other end (unix(7), SO_PEERCRED and SO_PEERGROUPS).
    struct Peer: Sendable, Hashable {
        var user: UInt32
        /// The effective group and the supplementary ones.
        var groups: [UInt32]
    }

    let ownUser: UInt32
    let path: String

    /// The socket's group is read each time, so that chgrp(1) takes effect at once.
    func allows(_ peer: Peer) -> Bool {
        if self.isOwner(peer) { return true }
        guard let status = FileStatus(path: self.path, followsLinks: true) else { return false }
        return self.allows(peer, group: status.group)
    }

    func allows(_ peer: Peer, group: UInt32) -> Bool {
        self.isOwner(peer) || peer.groups.contains(group)
    }

    /// True for root and the daemon's own user, who may name any file.
    func isOwner(_ peer: Peer) -> Bool { peer.user == 0 || peer.user == self.ownUser }

    /// The peer of a channel; nil if the kernel does not know it.
    static func peer(of channel: any Channel) async -> Peer? {
        try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                PeerVerification.peer(of: $0)
            } ?? nil
        }.get()
    }

    /// The peer of a connected socket; nil if the kernel does not know it.
    static func peer(of descriptor: Int32) -> Peer? {
        var (user, group): (UInt32, UInt32) = (0, 0)
        guard tg_peer_credentials(descriptor, &user, &group) == 0 else { return nil }
        var groups = [UInt32](repeating: 0, count: 256)
        let count = tg_peer_groups(descriptor, &groups, Int32(groups.count))
        return Peer(user: user, groups: [group] + groups.prefix(Int(max(0, count))))
    }
}

/// Passes on requests of peers that may use the control socket.
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

internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// Passes on requests of peers that may use the control socket.
struct PeerMiddleware: RouterMiddleware {
    let verification: PeerVerification

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        guard let peer = await PeerVerification.peer(of: context.channel), self.verification.allows(peer) else {
            let message =
                "permission denied: the control socket is for root, the daemon's user and members of the socket's group"
            return ProblemDocument(.forbidden, message, format: .json).response
        }
        var context = context
        context.caller = self.verification.isOwner(peer) ? .owner : .member
        return try await next(request, context)
    }
}

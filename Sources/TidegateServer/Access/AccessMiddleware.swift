internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Passes on requests that the access policy allows, and puts its header fields on every response.
struct AccessMiddleware: RouterMiddleware {
    let controller: AccessController

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        let decision = await self.controller.decision(
            authorization: request.headers[.authorization], peer: PeerAddress(context.channel.remoteAddress))
        var response: Response
        if let problem = decision.problem {
            response = problem.response
        } else {
            var context = context
            context.isAuthenticated = decision.isAuthenticated
            response = try await next(request, context)
        }
        for header in decision.headers { response.headers[header.name] = header.value }
        return response
    }
}

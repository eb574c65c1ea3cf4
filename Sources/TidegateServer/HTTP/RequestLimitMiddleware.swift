internal import Hummingbird
internal import HummingbirdCore

/// Answers 503 while too many requests are being answered.
struct RequestLimitMiddleware: RouterMiddleware {
    let isScrape: Bool

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        guard context.place?.take(isScrape: self.isScrape) ?? true else {
            return ProblemDocument.unavailable("Too many concurrent requests.", retryAfter: 1).response
        }
        return try await next(request, context)
    }
}

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import TidegateCore

/// Puts the header fields of every response in place, unless a route or the access policy has set them.
struct StandardHeadersMiddleware: RouterMiddleware {
    let time: any TimeSource

    // Nothing is cached, framed, sniffed or sent on to other sites.
    private static let fields = [
        "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    ].compactMap { name, value in HTTPField.Name(name).map { (name: $0, value: value) } }

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.date] = HTTPDate.text(self.time.wall())
        for (name, value) in Self.fields where !response.headers.contains(name) {
            response.headers[name] = value
        }
        return response
    }
}

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Refuses requests for other hosts, and those with a body that nobody reads.
struct RequestCheckMiddleware: RouterMiddleware {
    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        if let problem = self.problem(request.head, context.hosts) { return problem.response }
        return try await next(request, context)
    }

    private func problem(_ head: HTTPRequest, _ hosts: HostCheck?) -> ProblemDocument? {
        if let hosts {
            guard let host = head.authority else {
                return ProblemDocument(.badRequest, "A request needs one Host field.")
            }
            guard hosts.admits(host) else {
                return ProblemDocument(
                    .misdirectedRequest,
                    "Unknown host: use an address of the server, or start it with --web.allowed-host.")
            }
        }
        let length = head.headerFields[.contentLength] ?? "0"
        guard head.method == .get || head.method == .head, length != "0" || head.headerFields[.transferEncoding] != nil
        else { return nil }
        return ProblemDocument(.badRequest, "A GET request has no body.")
    }
}

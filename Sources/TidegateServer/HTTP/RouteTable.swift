internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import TidegateCore

/// Routes by path and method.
///
/// Hummingbird's router answers 404 for a path that exists only with other methods, and ignores empty segments of a
/// path. Here, a known path with another method gets 405 with `Allow` (RFC 9110 15.5.6), and `/metrics/` is not
/// `/metrics`.
struct RouteTable {
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    private let router = Router(context: ServerContext.self)
    // Answers 405 with `Allow` for every known path, because Hummingbird's router cannot list a path's methods.
    private let wrongMethodRouter = Router(context: ServerContext.self)
    private let format: ProblemFormat

    /// A table that sends every response through `middlewares`, the first one outermost, even for unknown paths.
    init(format: ProblemFormat, middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>]) {
        self.format = format
        for middleware in middlewares { self.router.add(middleware: middleware) }
        self.router.add(middleware: ExactPathMiddleware(format: format))
    }

    /// Adds a path with its methods; its requests pass through `middleware` last.
    func add(
        _ path: RouterPath, _ handlers: [(method: HTTPRequest.Method, handler: Handler)],
        middleware: (any MiddlewareProtocol<Request, Response, ServerContext>)? = nil
    ) {
        let group = self.router.group()
        if let middleware { group.add(middleware: middleware) }
        for (method, handler) in handlers { group.on(path, method: method, use: handler) }
        let problem = Response.problem(
            .methodNotAllowed, self.format.styled("method not allowed"), format: self.format,
            headers: [.allow: handlers.map { $0.method.rawValue }.joined(separator: ", ")])
        self.wrongMethodRouter.get(path) { _, _ in problem }
    }

    /// The responder with every route added so far.
    func responder() -> RouterResponder<ServerContext> {
        // Added after all routes, so that Hummingbird runs it only for requests that no route matches.
        self.router.add(
            middleware: UnmatchedMiddleware(
                wrongMethod: self.wrongMethodRouter.buildResponder(), format: self.format))
        return self.router.buildResponder()
    }
}

/// Answers requests that no route matches with 405 or 404.
private struct UnmatchedMiddleware: RouterMiddleware {
    let wrongMethod: RouterResponder<ServerContext>
    let format: ProblemFormat

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        var head = request.head
        head.method = .get
        let response = try await self.wrongMethod.respond(to: Request(head: head, body: request.body), context: context)
        return response.status == .methodNotAllowed ? response : self.format.notFound
    }
}

/// Answers 404 for a path that Hummingbird matches only because it ignores empty segments.
private struct ExactPathMiddleware: RouterMiddleware {
    let format: ProblemFormat

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        let path = request.head.path?.prefix { $0 != "?" } ?? ""
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard path == "/" || segments.count > 1 && segments[0].isEmpty && !segments.dropFirst().contains("") else {
            // Otherwise the request would be counted for the handler that it almost matched.
            context.coreContext.endpointPath.value = nil
            return self.format.notFound
        }
        return try await next(request, context)
    }
}

extension ProblemFormat {
    fileprivate var notFound: Response { .problem(.notFound, self.styled("not found"), format: self) }

    /// The message in this format: a sentence in text, a clause in JSON.
    fileprivate func styled(_ message: String) -> String {
        switch self {
        case .text: message.prefix(1).uppercased() + message.dropFirst() + "."
        case .json: message
        }
    }
}

/// The next handler after a middleware.
typealias NextHandler = (Request, ServerContext) async throws -> Response

/// What a server's routes may need besides the request.
struct ServerContext: RequestContext {
    struct Source: RequestContextSource {
        let channel: any Channel
        /// The number of requests that the server is answering, including this one.
        let inFlight: Int
        /// The hosts that the listener answers for; nil for all, even without a Host field.
        var hosts: HostCheck?
        /// The place of the request; nil without a limit.
        var place: RequestPlace?
        // The daemon logs requests from their events, so the libraries' own log is discarded.
        var logger: Logger { ServerContext.silentLogger }
    }

    static let silentLogger = Logger(label: "tidegate.server") { _ in SwiftLogNoOpLogHandler() }

    var coreContext: CoreRequestContextStorage
    let source: Source
    /// The connection of the request.
    var channel: any Channel { self.source.channel }
    /// True if the client has authenticated as the access policy requires.
    var isAuthenticated = false
    /// True if the client is a program on this host that connected to a loopback address.
    var isFromLoopback: Bool { PeerAddress.ip(of: self.channel.remoteAddress)?.isLoopback ?? false }
    /// The caller on the control socket.
    var caller = ControlCaller.member

    init(source: Source) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.source = source
    }
}

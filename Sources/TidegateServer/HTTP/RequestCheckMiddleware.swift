internal import HTTPTypes
internal import Hummingbird
internal import TidegateCore

/// Rejects requests for other hosts, and requests with a body that no route reads.
struct RequestCheckMiddleware: RouterMiddleware {
    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        if let problem = self.problem(request.head, context.source.hosts) { return problem }
        return try await next(request, context)
    }

    private func problem(_ head: HTTPRequest, _ hosts: HostCheck?) -> Response? {
        if let hosts {
            guard let host = head.authority else {
                return .problem(.badRequest, "A request needs one Host field.")
            }
            guard hosts.admits(host) else {
                return .problem(
                    .misdirectedRequest,
                    "Unknown host: use an address of the server, or start it with --web.allowed-host.")
            }
        }
        let length = head.headerFields[.contentLength] ?? "0"
        guard head.method == .get || head.method == .head, length != "0" || head.headerFields[.transferEncoding] != nil
        else { return nil }
        return .problem(.badRequest, "A GET request has no body.")
    }
}

/// The hosts that a listener answers for.
///
/// A page of another site whose name was made to resolve to this host (DNS rebinding) sends its own name, which cannot
/// be an address or `localhost`.
struct HostCheck: Sendable {
    private let isActive: Bool
    private let allowed: Set<String>

    /// The check of a listener at this address.
    ///
    /// Names that are not allowed are rejected on a loopback address, and elsewhere only if there is a list of allowed
    /// names.
    init(listen: ListenAddress, allowed: [String]) {
        self.isActive = listen.isLoopback || !allowed.isEmpty
        self.allowed = Set(allowed.map { Self.name((try? Target($0).host) ?? $0) })
    }

    /// True if a request with this `Host` is answered; the port is ignored.
    func admits(_ host: String) -> Bool {
        guard self.isActive else { return true }
        let name = Self.name(Self.withoutPort(host))
        // Linux treats the unspecified address as loopback, but browsers do not treat it as local.
        let isAddress = IPAddress(name).map { !$0.isUnspecified } ?? false
        return name == "localhost" || isAddress || self.allowed.contains(name)
    }

    private static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    // Case and a trailing full stop do not matter.
    private static func name(_ text: String) -> String {
        let name = text.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// Adds the standard header fields to every response, unless a route or the access policy has set them.
struct StandardHeadersMiddleware: RouterMiddleware {
    let time: any TimeSource

    // Forbids caching, framing, content sniffing and referrers.
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

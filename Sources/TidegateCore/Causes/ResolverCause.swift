/// What is wrong with the name resolvers.
package enum ResolverCause: Sendable, Hashable, CauseKind {
    /// No resolver answers, while a path beyond the gateway works.
    case silent([IPAddress])
    /// Nothing listens at the resolver's port.
    case refused(IPAddress)
    /// It answers with a failure: `SERVFAIL`, `REFUSED`.
    case fails(IPAddress?, code: String?)
    /// It denies names that exist.
    case denies(IPAddress?, name: String)
    /// It answers with an address that no public name has.
    case blocks(IPAddress?, name: String, answer: IPAddress)

    package var description: String {
        switch self {
        case .silent(let servers):
            servers.count == 1 ? "the resolver \(servers[0]) does not answer" : "no resolver answers"
        case .refused(let server): "nothing listens at port 53 of \(server)"
        case .fails(let server, let code):
            "\(Self.subject(server)) answers with \(code ?? "a failure")"
        case .denies(let server, let name): "\(Self.subject(server)) denies names that exist, \(name) too"
        case .blocks(let server, let name, let answer):
            "\(Self.subject(server)) blocks \(name): it answers \(answer)"
        }
    }

    var code: String {
        switch self {
        case .silent: "resolverSilent"
        case .refused: "resolverRefused"
        case .fails: "resolverFails"
        case .denies: "resolverDenies"
        case .blocks: "resolverBlocks"
        }
    }

    private static func subject(_ server: IPAddress?) -> String {
        server.map { "the resolver \($0)" } ?? "the resolver"
    }
}

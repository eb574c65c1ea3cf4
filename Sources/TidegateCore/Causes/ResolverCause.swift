/// What is wrong with the name resolvers.
package enum ResolverCause: Sendable, Hashable {
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
}

extension ResolverCause: CauseKind {
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

    func advice(for target: Target) -> String {
        switch self {
        case .silent(let servers):
            "Check \(servers.count == 1 ? "\(servers[0])" : "the resolvers"), or name another one in /etc/resolv.conf."
        case .refused(let server):
            server.isLoopback
                ? "Start this host's own resolver (such as systemd-resolved) at \(server)."
                : "Start the name server on \(server), or name another one in /etc/resolv.conf."
        case .fails(let server, code: _):
            "Repair \(Self.subject(server)), or name another one in /etc/resolv.conf."
        case .denies:
            "Ask another resolver, or log in: a filter or a captive portal answers for this one."
        case .blocks(let server, let name, answer: _):
            "Take \(name) off the block list of \(Self.subject(server)), or ask another resolver."
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

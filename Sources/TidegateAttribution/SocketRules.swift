internal import TidegateCore

/// What the error number of a socket says.
enum SocketRules {
    static let all: [Rule] = [
        // Nobody else can open a port of this host.
        Rule("nothing listens on this host", rung: .tcp) { facts in
            guard facts.seen.socketError == .refused, facts.isThisHost, let peer = facts.seen.peer else { return nil }
            return .thisHost(.nothingListens(peer, port: facts.seen.port))
        },
        Rule("the target refuses the connection", rung: .tcp) {
            $0.seen.socketError == .refused ? .server(.refused) : nil
        },
        Rule("many remotes reset connections at the same time", party: .path) {
            $0.seen.socketError == .reset && $0.seen.areManyReset
        },
        Rule("the target resets the connection") { facts in
            guard facts.seen.socketError == .reset else { return nil }
            return switch facts.rung {
            case .tls: .server(.handshakeReset)
            case .http: .server(.responseReset)
            default: .server(.refused)
            }
        },
        Rule(
            "a route of this host makes the target unreachable", party: .mine, rung: .route,
            clause: { "a route of this host makes \($0.host) unreachable" },
            if: { $0.seen.isImmediate && $0.seen.socketError == .hostUnreachable }),
        Rule(
            "this host has no route, or forbids it", party: .mine, rung: .route, clause: { $0.socketClause },
            if: { facts in
                [.prohibited, .blackholed].contains(facts.seen.socketError)
                    || facts.seen.isImmediate && facts.seen.socketError == .networkUnreachable
            }),
        Rule(
            "a router has no route", party: .upstream, rung: .tcp,
            clause: { "a router reported no route to \($0.host)" }, if: { $0.seen.socketError == .networkUnreachable }),
        Rule(
            "the target was reported unreachable", party: .path, rung: .tcp,
            clause: { "\($0.host) was reported unreachable" }, if: { $0.seen.socketError == .hostUnreachable }),
        Rule(
            "this host has no source address", party: .mine, rung: .address, clause: { $0.socketClause },
            if: { $0.seen.socketError == .addressNotAvailable }),
        Rule(
            "this process has no descriptor or no memory", party: .mine, rung: .monitor, clause: { $0.socketClause },
            if: { $0.seen.socketError == .noResources }),
    ]
}

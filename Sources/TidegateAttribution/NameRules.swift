internal import TidegateCore

/// Names and their servers.
enum NameRules {
    static let all: [Rule] = [
        Rule(
            "the system says that the name does not exist", party: .mine,
            clause: { facts in
                let name = facts.seen.proxy.map { "the name of the proxy \($0)" } ?? "the name"
                return "the resolver says that \(name) has no address"
            }, if: { $0.isAny(of: .resolveFailed) && $0.seen.resolveFailure == .nameNotFound }),
        Rule("the name exists without an address of the version") { facts in
            guard case .noRecord(let name, let family)? = facts.seen.lookup else { return nil }
            return .thisHost(.missingRecord(name, of: family))
        },
        Rule("the server denies a name that exists") { facts in
            guard case .denied(let name, let server, deniesOthers: true)? = facts.seen.lookup else { return nil }
            return .resolver(.denies(server, name: name))
        },
        Rule("the name does not exist") { facts in
            guard case .denied(let name, let server, _)? = facts.seen.lookup else { return nil }
            return .thisHost(.nameNotFound(name, resolver: server))
        },
        Rule("no name server is configured") { $0.seen.lookup == .noServer ? .thisHost(.noNameserver) : nil },
        // It speaks for what is behind it.
        Rule("a server on the own link fails, and no host beyond the gateway answers", isFinal: false) { facts in
            if case .fails? = facts.seen.lookup { facts.forwarderCause } else { nil }
        },
        Rule("the server answers with a failure") { facts in
            guard case .fails(let server, let code)? = facts.seen.lookup else { return nil }
            return .resolver(.fails(server, code: code))
        },
        Rule("nothing listens at the server's port") { facts in
            guard case .refused(let server)? = facts.seen.lookup else { return nil }
            return .resolver(.refused(server))
        },
        Rule("the server answers with an address that no public name has") { facts in
            guard case .blocked(let name, let server, let answer)? = facts.seen.lookup else { return nil }
            return .resolver(.blocks(server, name: name, answer: answer))
        },
        // A resolver that is silent together with everything else is not the one that failed.
        Rule("the system's look-up gives no answer, and no one else was asked", isFinal: false) { facts in
            guard facts.isAny(of: .resolveFailed), facts.seen.lookup == nil, !facts.isAnyoneAsked else { return nil }
            return .resolver(.silent([]))
        },
    ]
}

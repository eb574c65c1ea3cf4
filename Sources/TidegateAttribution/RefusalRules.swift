internal import TidegateCore

/// ICMP errors, by their sender and by what they say.
enum RefusalRules {
    static let all: [Rule] = [
        Rule("this host does not find the gateway on its link", rung: .gateway) { facts in
            guard facts.refusal(.hostUnreachable, from: .thisHost) != nil, let gateway = facts.path?.gateway else {
                return nil
            }
            return .router(.absent(gateway, link: facts.link))
        },
        Rule("this host does not find the target on its link", rung: .tcp) { facts in
            guard facts.refusal(.hostUnreachable, from: .thisHost) != nil else { return nil }
            return .server(facts.seen.peer.map { .absent($0, link: facts.link) } ?? .gone(nil))
        },
        Rule("this host refuses", rung: .route) { facts in
            facts.refusal.flatMap { $0.sender == .thisHost ? .thisHost(.filter($0.error)) : nil }
        },
        Rule("the target refuses", rung: .tcp) { facts in
            facts.refusal.flatMap { $0.sender == .destination ? .server(.prohibits($0.error)) : nil }
        },
        Rule("packets go in circles", rung: .tcp) { facts in
            facts.refusal(.timeExceeded, from: .gateway, .router).map { .onTheWay(.loop(at: $0.offender)) }
        },
        Rule("the gateway has no route", rung: .tcp) { facts in
            facts.refusal(.noRoute, from: .gateway).map { .provider(.noRoute($0)) }
        },
        // It looks for the target on a link of its own, unless everything beyond it gets the same answer.
        Rule("the gateway finds no host at all", rung: .tcp) { facts in
            guard let error = facts.refusal(.hostUnreachable, from: .gateway), !facts.isBeyondProven,
                facts.witnesses.contains(where: { $0.refusal == nil || $0.refusal?.kind == .hostUnreachable })
            else { return nil }
            return .provider(.noRoute(error))
        },
        // The last router did not find the host on its link.
        Rule("a router does not find the target on its link", rung: .tcp) { facts in
            facts.refusal(.hostUnreachable, from: .gateway, .router).map { .server(.gone($0)) }
        },
        Rule("the gateway's firewall forbids it", rung: .tcp) { facts in
            facts.refusal.flatMap { $0.sender == .gateway ? .router(.prohibits($0.error)) : nil }
        },
        Rule("a router on the way has no route", rung: .tcp) { facts in
            facts.refusal(.noRoute, from: .router).map { .onTheWay(.noRoute($0)) }
        },
        Rule("a router on the way forbids it", rung: .tcp) { facts in
            facts.refusal.map { .onTheWay(.prohibits($0.error)) }
        },
    ]
}

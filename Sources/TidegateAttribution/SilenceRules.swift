internal import TidegateCore

/// Silence convicts by its witnesses only; a way beyond the gateway that works acquits the router and the provider.
enum SilenceRules {
    static let all = remotes + near + stages + far

    // Connections of other programs.
    private static let remotes: [Rule] = [
        Rule("nothing behind the next hop answers", party: .upstream) { $0.remotes == .silent },
        Rule("several of one network hang, and nothing there answers", party: .path) {
            $0.remotes == .silentNetwork
        },
        Rule("others behind the next hop answer", party: .theirs) { $0.remotes == .answering },
    ]

    // Nothing beyond this host or its gateway answers.
    private static let near: [Rule] = [
        Rule("a filter of this host drops what it sends", rung: .route) { facts in
            facts.seen.isFiltered && facts.seen.internet == nil ? .thisHost(.filter(nil)) : nil
        },
        Rule("the gateway has lost its link-layer address", isFinal: false) { facts in
            guard case .unresolved(let address, let link, true)? = facts.nearGateway else { return nil }
            return .router(.silent(address, link: link, lastConfirmed: nil))
        },
        Rule("the gateway has no link-layer address") { facts in
            guard case .unresolved(let address, let link, _)? = facts.nearGateway else { return nil }
            return .router(.absent(address, link: link))
        },
        Rule("the gateway answers, and nothing beyond it does", isFinal: false) { facts in
            guard facts.isAnyoneAsked, case .answers(let address)? = facts.nearGateway else { return nil }
            return .provider(.nothingBeyond(gateway: address))
        },
        Rule("packets come as far as the gateway, and nothing beyond it answers", isFinal: false) { facts in
            switch facts.nearGateway {
            case .unconfirmed(let address, _, _)? where facts.isGatewayReached,
                .confirmed(let address)? where facts.isGatewayReached:
                .provider(.nothingBeyond(gateway: address))
            default: nil
            }
        },
        Rule("the gateway was last confirmed before the silence, and nothing answers", isFinal: false) { facts in
            guard facts.isAnyoneAsked, case .unconfirmed(let address, let link, let age)? = facts.nearGateway
            else { return nil }
            return .router(.silent(address, link: link, lastConfirmed: age))
        },
        // Without a gateway to ask, silence of everybody is what lies behind the link.
        Rule("nothing is known of a gateway, and nothing answers", isFinal: false) { facts in
            facts.isAnyoneAsked && facts.nearGateway == .unknown ? .provider(.nothingBeyond(gateway: nil)) : nil
        },
        Rule("packets to two networks end at the same router", isFinal: false) { facts in
            let routers = facts.lastRouters
            guard !facts.isEndProven, routers.count > 1, let router = routers.first,
                routers.allSatisfy({ $0 == router })
            else { return nil }
            return .provider(.ends(after: router))
        },
        Rule("internet checks fail") { $0.seen.internet == .failing ? .provider(.checksFail) : nil },
    ]

    // How far the attempt came.
    private static let stages: [Rule] = [
        Rule("small packets pass, and large ones do not") { facts in
            facts.isBeyondProven && facts.seen.losesLargePackets && facts.silent == .target
                ? .onTheWay(.largePackets) : nil
        },
        Rule("the server accepts the connection and does not answer the handshake", isFinal: false) {
            $0.seen.stage == .tls ? .server(.handshakeSilent) : nil
        },
        Rule("the server takes the request and does not answer", isFinal: false) {
            [.request, .response].contains($0.seen.stage) ? .server(.responseSilent) : nil
        },
        Rule("the answer stops, while other hosts answer", isFinal: false) { facts in
            facts.seen.stage == .body && (facts.seen.peers.reached > 0 || facts.isOnLink)
                ? .server(.bodyStopped) : nil
        },
    ]

    // Something beyond the gateway answers, or nothing tells.
    private static let far: [Rule] = [
        Rule("the gateway was found since, and nothing answers", isFinal: false) { facts in
            guard facts.isAnyoneAsked, case .confirmed(let address)? = facts.nearGateway else { return nil }
            return .unknown(.routerOrProvider(gateway: address))
        },
        Rule("resolvers on the own link are silent, and no host beyond the gateway answers", isFinal: false) { facts in
            facts.silent == .target ? nil : facts.forwarderCause
        },
        Rule("resolvers are silent, and a host beyond the gateway answers", isFinal: false) { facts in
            let isAlone = facts.gateway == .none && (facts.seen.isOnLink || !facts.isBeyondProven)
            guard case .resolvers(let servers) = facts.silent, facts.isEndProven || isAlone else { return nil }
            return .resolver(.silent(servers))
        },
        Rule("the target's host answers, and the port does not") { facts in
            facts.isHostThere || facts.nearGateway == SilenceEvidence.Gateway.none ? .server(.portSilent) : nil
        },
        Rule("packets end beyond the gateway, while others answer", isFinal: false) { facts in
            facts.isBeyondProven ? .onTheWay(.ends(after: facts.lastRouters.first)) : nil
        },
        Rule("nothing tells", isFinal: false) { _ in .unknown(.silence) },
    ]
}

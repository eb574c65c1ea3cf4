internal import TidegateCore

// The rows of the decision table, by subject.
extension DecisionTable {
    /// This host, its path and its proxy.
    static let hostRules: [Rule] = [
        Rule("the body is larger than this host allows", party: .mine) { $0.isAny(of: .tooLarge) },
        Rule("the failure is on this host", party: .mine) {
            $0.isAny(of: .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal)
        },
        Rule("the server redirects", party: .theirs, rung: .http) { $0.isAny(of: .redirectRefused) },
        Rule("the kernel would not send") { $0.seen.kernel.map { .thisHost(.kernel($0)) } },
        Rule(
            "an address of the hosts file does not work, and DNS has another one",
            cause: { facts in
                guard case .hostsFile(let name, let dns)? = facts.seen.lookup, let address = facts.seen.peer,
                    !dns.contains(address)
                else { return nil }
                var seen = facts.seen
                seen.lookup = nil
                return DecisionTable.cause(of: seen).isOfAddress
                    ? .thisHost(.hostsFile(name, address: address, dns: dns)) : nil
            }),
        Rule("the gateway keeps a connection from its path", party: .gateway) {
            $0.seen.isOfThisPath && $0.lost?.verdict.reason?.party == .gateway
        },
        Rule(
            "this host had no path", party: .mine,
            clause: { facts in
                facts.lost.map { "no path \($0.moment): \($0.verdict.reason ?? .noRoute)" } ?? ""
            }, if: { $0.lost != nil }),
        Rule(
            "the path moved under the attempt", party: .mine, rung: .route,
            clause: { facts in
                "the path moved from \(facts.seen.before.path?.hop ?? "") to \(facts.seen.after.path?.hop ?? "") under "
                    + "the attempt"
            }, if: { $0.hasPathMoved }),
        Rule("the path of this host changed a moment ago", party: .mine, rung: .route) { $0.seen.isSettling },
        Rule("a captive portal answers in the target's place", rung: .internet) { $0.portal },
        Rule("this host's own tables, or the counters of a tunnel, show the cause", isFinal: false) { facts in
            guard facts.isAny(of: .timedOut, .connectFailed, .resolveFailed), facts.seen.socketError == nil,
                [nil, .resolve, .connect].contains(facts.seen.stage), !facts.isOnLink
            else { return nil }
            return facts.seen.shown.flatMap { $0.party == .unknown ? nil : $0 }
        },
        Rule("the proxy does not let this host through", party: .mine, rung: .http) { $0.seen.proxyAnswer == .denied },
        Rule("the proxy answers, and reaches no server", party: .theirs, rung: .tcp) { $0.seen.proxyAnswer == .failed },
        Rule("the proxy answers, and its network does not reach the server", party: .path, rung: .tcp) {
            $0.seen.proxyAnswer == .unreachable
        },
        Rule("the proxy answers, and makes no connection", party: .unknown, rung: .tcp) {
            $0.seen.proxyAnswer == .unclear
        },
    ]

    /// Names and their servers.
    static let nameRules: [Rule] = [
        Rule(
            "the system says that the name does not exist", party: .mine,
            clause: { facts in
                let name = facts.seen.proxy.map { "the name of the proxy \($0)" } ?? "the name"
                return "the resolver says that \(name) has no address"
            },
            if: { facts in
                facts.isAny(of: .resolveFailed) && facts.seen.resolveFailure == .nameNotFound
                    && (facts.isBeyondProven || !facts.isAnyoneAsked)
            }),
        Rule("the name exists without an address of the version") { facts in
            guard case .noRecord(let name, let family)? = facts.seen.lookup else { return nil }
            return .thisHost(.missingRecord(name, of: family))
        },
        // The server's failure stands for that of its upstream.
        Rule("a server on the own link fails, and no host beyond the gateway answers", isFinal: false) { facts in
            switch facts.seen.lookup {
            case .fails(let server, code: _)?, .denied(_, by: let server, deniesOthers: true)?:
                guard let cause = facts.forwarderCause, server != facts.gateway.address else {
                    return facts.forwarderCause
                }
                // A server beside the gateway says nothing about the gateway.
                var seen = facts.seen
                seen.lookup = .silent([])
                return cause.party == .unknown ? cause : DecisionTable.cause(of: seen)
            default: return nil
            }
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
        Rule("the server answers with a failure") { facts in
            guard case .fails(let server, let code)? = facts.seen.lookup else { return nil }
            return .resolver(.fails(server, code: code))
        },
        Rule("the server answers for other names") { facts in
            guard case .silentAbout(let name, let server)? = facts.seen.lookup else { return nil }
            return .resolver(.silentAbout(server, name: name))
        },
        Rule("nothing listens at the server's port") { facts in
            guard case .refused(let server)? = facts.seen.lookup else { return nil }
            return .resolver(.refused(server))
        },
        Rule("the server answers with an address that no public name has") { facts in
            guard case .blocked(let name, let server, let answer)? = facts.seen.lookup else { return nil }
            return .resolver(.blocks(server, name: name, answer: answer))
        },
        // A resolver that is silent together with everything else is not the failing party.
        Rule("the system's lookup gives no answer, and no other witness was asked", isFinal: false) { facts in
            guard facts.isAny(of: .resolveFailed), facts.seen.lookup == nil, !facts.isAnyoneAsked else { return nil }
            return .resolver(.silent([]))
        },
    ]

    /// Answers of the server itself.
    static let serverRules: [Rule] = [
        Rule("the server does not accept this host's certificate, or none", party: .mine, rung: .tls) {
            $0.isTLS && $0.seen.lacksClientCertificate
        },
        Rule("this host does not accept the server's certificate", rung: .tls) { facts in
            (facts.isTLS ? facts.seen.certificateError : nil).map { .server(.certificate($0, facts.seen.certificate)) }
        },
        Rule("what answers speaks no TLS", rung: .tls) { $0.seen.handshake == .notTLS ? .server(.notTLS) : nil },
        Rule("the server breaks off the handshake", rung: .tls) { facts in
            facts.isTLS && (facts.seen.handshake == .brokenOff || facts.seen.socketError == .reset)
                ? .server(.handshakeReset) : nil
        },
        Rule("the handshake fails", rung: .tls) { facts in
            let text = facts.seen.text
            return facts.isTLS ? .server(.handshakeRefused(text.isEmpty ? "the TLS handshake failed" : text)) : nil
        },
        Rule("the status is about the request", rung: .http) { facts in
            guard facts.isAny(of: .httpStatus), let status = facts.seen.status, (400..<500).contains(status),
                ![408, 421, 429].contains(status)
            else { return nil }
            return .thisHost(.request(status: status))
        },
        Rule("the status is about the server", rung: .http) { facts in
            facts.isAny(of: .httpStatus) ? facts.seen.status.map { .server(.status($0)) } : nil
        },
        Rule("the server refused", party: .theirs, rung: .http) { $0.isAny(of: .httpStatus) },
        Rule("what answers speaks no HTTP", rung: .http) { facts in
            facts.seen.rung != nil && facts.isAny(of: .protocolError) ? .server(.notHTTP) : nil
        },
        Rule("the answer itself is wrong", party: .theirs, rung: .http) {
            $0.isAny(of: .protocolError, .truncated, .rangeMismatch, .digestMismatch)
        },
    ]

    /// ICMP errors, by sender and meaning.
    static let refusalRules: [Rule] = [
        // The ICMP error was forged or no longer applies.
        Rule("the port that a request did not reach accepts connections", rung: .tcp) { facts in
            facts.seen.isPortOpen && facts.seen.rung == .tcp && facts.seen.socketError == nil ? .unknown(.silence) : nil
        },
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
        // The gateway looks for the target on one of its own links, unless everything beyond it gets the same answer.
        Rule("the gateway finds no host at all", rung: .tcp) { facts in
            guard let error = facts.refusal(.hostUnreachable, from: .gateway), !facts.isBeyondProven,
                facts.witnesses.contains(where: { $0.refusal == nil || $0.refusal?.kind == .hostUnreachable })
            else { return nil }
            return .provider(.noRoute(error))
        },
        Rule("a router finds no host, and packets to another network do not arrive either", rung: .internet) { facts in
            guard let error = facts.refusal(.hostUnreachable, from: .router), let router = error.offender,
                facts.commonEnd == router
            else { return nil }
            return .provider(.ends(after: router))
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

    /// Socket error numbers.
    static let socketRules: [Rule] = [
        // Only programs of this host can open its ports.
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
                [.prohibited, .blackholed, .lacksInterface].contains(facts.seen.socketError)
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

    /// Silence is attributed by witnesses only; a working path beyond the gateway clears the router and the provider.
    static let silenceRules = remotes + near + stages + far

    // Evidence from connections of other programs.
    private static let remotes: [Rule] = [
        Rule("nothing behind the next hop answers", party: .upstream) { $0.remotes == .silent },
        Rule("several of one network hang, and nothing there answers", party: .path) {
            $0.remotes == .silentNetwork
        },
        Rule("the next hop opens no new connections", party: .gateway) { $0.remotes == .opensNone },
        Rule("others behind the next hop answer", party: .theirs) { $0.remotes == .answering },
    ]

    // Nothing beyond this host or its gateway answers.
    private static let near: [Rule] = [
        Rule("a filter of this host drops what it sends", rung: .route) { facts in
            facts.seen.isFiltered && facts.seen.internet == nil ? .thisHost(.filter(nil)) : nil
        },
        Rule("no router answers TCP, and routers answer UDP", isFinal: false) { facts in
            facts.seen.isTCPLost && facts.seen.rung == .tcp ? .unknown(.hostOrPath) : nil
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
        // Without a gateway to query, the fault lies behind the link if all hosts are silent.
        Rule("nothing is known of a gateway, and nothing answers", isFinal: false) { facts in
            facts.isAnyoneAsked && facts.nearGateway == .unknown ? .provider(.nothingBeyond(gateway: nil)) : nil
        },
        // A router that limits its ICMP may say nothing on the second way.
        Rule("packets to two networks get no further than one router", isFinal: false) { facts in
            facts.commonEnd.map { .provider(.ends(after: $0)) }
        },
        Rule("internet checks fail") { $0.seen.internet == .failing ? .provider(.checksFail) : nil },
        Rule("the internet checks of one server fail") { $0.seen.internet == .oneServer ? .unknown(.oneCheck) : nil },
    ]

    // How far the attempt came.
    private static let stages: [Rule] = [
        Rule("small packets pass, and large ones do not") { facts in
            guard facts.isBeyondProven, facts.silent == .target, let size = facts.seen.fittingPacket else { return nil }
            return .onTheWay(.largePackets(link: facts.path?.interface, fitting: size))
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

    // Something beyond the gateway answers, or nothing shows the cause.
    private static let far: [Rule] = [
        Rule("the gateway was found since, and nothing answers", isFinal: false) { facts in
            guard facts.isAnyoneAsked, case .confirmed(let address)? = facts.nearGateway else { return nil }
            return .unknown(.routerOrProvider(gateway: address))
        },
        Rule("resolvers on the own link are silent, and no host beyond the gateway answers", isFinal: false) { facts in
            facts.silent == .target ? nil : facts.forwarderCause
        },
        Rule("resolvers were silent, and all of them answer by now", isFinal: false) { facts in
            facts.silent != .target && facts.areResolversProven ? .unknown(.silence) : nil
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
        Rule("nothing shows the cause", isFinal: false) { facts in
            facts.seen.shown.flatMap { $0.party == .unknown ? $0 : nil } ?? .unknown(.silence)
        },
    ]
}

extension Cause {
    // The address itself may be the wrong one.
    fileprivate var isOfAddress: Bool {
        switch self {
        case .server(.refused), .server(.gone), .server(.absent), .server(.portSilent), .onTheWay,
            .unknown(.silence), .thisHost(.nothingListens):
            true
        default: false
        }
    }
}

package import TidegateCore

extension Cause {
    /// What to do, in one sentence; `target` is what was asked for.
    ///
    /// Advice follows from the cause, and never from the rung that showed it.
    package func advice(for target: Target) -> String {
        switch self {
        case .thisHost(let cause): cause.advice(for: target)
        case .router(let cause): cause.advice(for: target)
        case .provider(let cause): cause.advice(for: target)
        case .resolver(let cause): cause.advice(for: target)
        case .onTheWay(let cause): cause.advice(for: target)
        case .server(let cause): cause.advice(for: target)
        case .unknown(let cause): cause.advice(for: target)
        }
    }
}

extension RouterCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .absent(let address, let link):
            "Check that the gateway \(address) is on and attached to the link of \(link)."
        case .silent(let address, _, let age?) where age <= Thresholds.reachableTime:
            "Ask the gateway \(address) by its own page or console: its link answered \(DurationText(age)) ago."
        case .silent(let address, let link, _):
            "Restart the gateway \(address), or check what connects \(link) to it."
        case .prohibits(let error): "Allow \(target) in the firewall of \(error.sender(or: "the gateway"))."
        }
    }
}

extension ProviderCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .nothingBeyond(let gateway):
            "Ask the provider, or look at the uplink of \(gateway.map { "\($0)" } ?? "the gateway"): this host's side works."
        case .ends(let router): "Ask the provider: nothing beyond its router \(router) answers."
        case .noRoute(let error):
            "Look at the uplink and the routes of \(error.sender(or: "the gateway")), or ask the provider."
        case .checksFail: "Ask the provider: the gateway is there, and internet checks fail."
        case .portal(let location):
            "Log in to the captive portal: open \(location ?? "any http page") in a browser on this network."
        }
    }
}

extension ResolverCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .silent(let servers):
            "Check \(servers.count == 1 ? "\(servers[0])" : "the resolvers"), or name another one in /etc/resolv.conf."
        case .refused(let server):
            server.isLoopback
                ? "Start this host's own resolver (such as systemd-resolved) at \(server)."
                : "Start the name server on \(server), or name another one in /etc/resolv.conf."
        case .fails(let server, code: _):
            "Repair \(server.map { "the resolver \($0)" } ?? "the resolver"), or name another one in /etc/resolv.conf."
        case .denies:
            "Ask another resolver, or log in: a filter or a captive portal answers for this one."
        case .blocks(let server, let name, answer: _):
            "Take \(name) off the block list of \(server.map { "the resolver \($0)" } ?? "the resolver"), or ask another resolver."
        }
    }
}

extension PathCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .loop(let router):
            "Report the routing loop to the operator of \(router.map { "\($0)" } ?? "the network on the way")."
        case .prohibits(let error), .noRoute(let error):
            "Ask the operator of \(error.sender(or: "a router on the way")) why it does not forward to \(target.shownHost)."
        case .ends(let router):
            "Ask the operator of the network behind \(router.map { "\($0)" } ?? "the provider") about \(target.shownHost)."
        case .largePackets:
            "Lower the MTU of the way (ip link set LINK mtu 1400), or allow ICMP \"packet too big\" through its firewalls."
        }
    }
}

extension UnknownCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .routerOrProvider(let gateway):
            "Ask the gateway itself, by its own page or console at \(gateway): whether it has a link to the provider tells."
        case .silence:
            "Try a second host elsewhere: if it answers, the failure is on the way to \(target.shownHost) or there."
        case .notEnoughTime: "Try again with more time (--timeout)."
        }
    }
}

extension ICMPError {
    fileprivate func sender(or unknown: String) -> String { self.offender.map { "\($0)" } ?? unknown }
}

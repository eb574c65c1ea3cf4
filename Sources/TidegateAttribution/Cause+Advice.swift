package import TidegateCore

extension Cause {
    /// What to do, in one sentence; `target` is the requested target.
    ///
    /// Advice follows from the cause, never from the rung that showed it.
    package func advice(for target: Target) -> String {
        switch self {
        case .thisHost(let cause): cause.advice(for: target)
        case .router(let cause): cause.advice(for: target)
        case .provider(let cause): cause.advice(for: target)
        case .resolver(let cause): cause.advice(for: target)
        case .onTheWay(let cause): cause.advice(for: target)
        case .server(let cause): cause.advice(for: target)
        case .slow(let cause): cause.advice
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
            "Check the gateway \(address) on its own page or console: its link answered \(age.shortText) ago."
        case .silent(let address, let link, _):
            "Check the power and cabling of \(address); restart it if it stays silent on \(link)."
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
        case .silentLine(let link):
            "Ask the provider, or connect again: ip -s link show dev \(link) counts packets that are sent, and none back."
        case .checksFail: "Ask the provider: the gateway is there, and internet checks fail."
        case .portal(let location):
            "Log in to the captive portal: open \(location ?? "any http page") in a browser on this network."
        }
    }
}

extension ResolverCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .silentAbout(let server, let name):
            "Look which server \(server) asks about \(name): one that left with its tunnel or network stays silent."
        case .silent(let servers) where self.isOfThisHost:
            "Restart this host's own resolver (such as systemd-resolved) at \(servers[0])."
        case .fails(let server?, code: _) where self.isOfThisHost:
            "Look which servers this host's own resolver at \(server) asks, and restart it: resolvectl status, docker info."
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
            "Ask the operator of the network behind \(router.map { "\($0)" } ?? "the provider")"
                + (target.address?.isUnspecified ?? false ? ": packets get no further." : " about \(target.shownHost).")
        case .tcpEnds(after: let router, let port):
            "Ask the operator of \(router), or of the router behind it, for a filter of TCP port \(port)."
        case .silentTunnel(let tunnel, over: _):
            "Ask the operator of the far end of \(tunnel) about its service, its keys and its port."
        case .tunnelEnds(_, after: let router):
            "Ask the operator of \(router) whether it forwards and translates what the tunnel brings."
        // Below it, the kernel removes IPv6 from the link (RFC 8200 5).
        case .largePackets(let link, fitting: let size) where size < 1280:
            "Limit the packets to it: ip route add \(target.shownHost) via ROUTER dev \(link ?? "LINK") mtu lock \(size)."
        case .largePackets(let link, fitting: let size):
            "Lower the MTU: ip link set \(link ?? "LINK") mtu \(size), or allow ICMP \"packet too big\" through its firewalls."
        }
    }
}

extension UnknownCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .routerOrProvider(let gateway):
            "Check the gateway's own page or console at \(gateway): it shows whether the link to the provider is up."
        case .hostOrPath:
            "Look for a rule of this host that drops it (nft list ruleset); without one, a filter on the way drops it."
        case .oneCheck: "Check the URL, or add a second server (--internet-check): one failing server proves no outage."
        case .forwarder:
            "Run tidegate explain: it asks beyond the gateway, and so tells the resolver from the provider."
        case .silentTunnel(let tunnel):
            "Explain the address of the far end of \(tunnel), which takes the line below: that line or the far end fails."
        case .silence where target.address?.isUnspecified ?? false:
            "Try one host by its address: tidegate explain 1.1.1.1:443."
        case .silence:
            "Try a second host elsewhere: if it answers, the failure is on the way to \(target.shownHost) or at its end."
        case .notEnoughTime: "Try again with more time (--timeout)."
        }
    }
}

extension HostCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .kernel(let refusal): refusal.advice(for: target)
        case .connectionTable:
            "Raise net.netfilter.nf_conntrack_max, and look for what opens the connections: conntrack -L."
        case .dropsAnswers: "Look for the rule that drops what arrives from \(target.shownHost): nft list ruleset."
        case .filter: "Look for the rule that rejects \(target): nft list ruleset."
        case .privateAddress(let address, isResolver: true, after: _, let tunnel):
            "Remove \(address) from the name servers, or bring up \(tunnel ?? "the VPN that it belongs to")."
        case .privateAddress(let address, isResolver: false, after: _, let tunnel):
            "Bring up \(tunnel ?? "the VPN that leads to it"), or add a route: ip route add \(address) via ROUTER."
        case .silentTranslator(let link): "Restart the program that translates at \(link), or use hosts with IPv6."
        case .tunnelInItself(let tunnel):
            "Add a route to the far end's own address past \(tunnel): ip route add FAR-END via ROUTER."
        case .foreignSource(let source, let link, let other):
            "Let packets from \(source) leave by \(other), or give them an address of \(link): ip rule, ip route get."
        case .staticNeighbour(let gateway, let link):
            "Remove the static entry, so that the kernel asks for the address: ip neigh del \(gateway) dev \(link)."
        case .frozen:
            "Look for what stopped it: docker pause, a paused virtual machine, SIGSTOP, or memory that is full."
        case .reversePathFilter(_, let link):
            "Let answers come back by \(link), or accept them: sysctl -w net.ipv4.conf.all.rp_filter=2."
        case .nothingListens(_, let port):
            port.map { "Start the service that should listen on port \($0), and check what listens there: ss -ltnp." }
                ?? "Start the service that should answer there, and check what listens there: ss -lntup."
        case .nameNotFound(let name, let resolver):
            "Check the spelling of \(name): \(resolver.map { "the resolver \($0)" } ?? "the resolver") knows other names."
        case .missingRecord(let name, let family):
            "Add an \(family.map { "\($0.name) " } ?? "")address to the zone of \(name), or use the version it has."
        case .hostsFile(let name, let address, dns: _):
            "Correct or remove the line of \(name) in /etc/hosts: \(address) does not work."
        case .noDescriptor: "Raise LimitNOFILE= in the unit, or ulimit -n."
        case .noNameserver:
            "Name a resolver in /etc/resolv.conf (nameserver ADDRESS); without one only 127.0.0.1 is asked."
        case .request(let status): Self.advice(for: target, status: status)
        }
    }

    private static func advice(for target: Target, status: Int) -> String {
        switch status {
        case 407: "Give the credentials that the proxy requires."
        case 401, 403: "Give the credentials that \(target) requires, or ask its owner for access."
        case 404, 410: "Check the path of the URL: \(target) does not have it."
        default: "Change the request: \(target) answers it with \(status)."
        }
    }
}

extension HostCause.KernelRefusal {
    private var subject: String { self.link ?? "the link" }

    fileprivate func advice(for target: Target) -> String {
        switch self.reason.rung {
        case .interface, .carrier: self.linkAdvice
        case .address: self.addressAdvice
        case .route: self.routeAdvice(target)
        case .monitor, .gateway, .dns, .internet, .tcp, .tls, .http:
            self.reason == .resolverNoRoute
                ? "Give this host a route to its resolvers, or name others in /etc/resolv.conf."
                : "Allow this process to use netlink sockets: a sandbox or a seccomp filter blocks them."
        }
    }

    private var linkAdvice: String {
        switch self.reason {
        case .noInterface: "Add or load a network interface: this host has none besides loopback."
        case .adminDown: "Bring the link up: ip link set \(self.subject) up."
        case .noCarrier: "Plug in the cable of \(self.subject), or \(self.detour)."
        case .dormant:
            "Finish the login of \(self.subject), such as 802.1X or Wi-Fi: its network has not authorised it."
        case .flapping: "Check the cable, the connectors and the port of \(self.subject), or \(self.detour)."
        case .lowerLayerDown: "Bring up the link that \(self.subject) runs over."
        default: "Remove the route to the interface that is gone, or bring that interface back."
        }
    }

    private var detour: String {
        guard let alternative = self.liveAlternative else { return "bring up another link with a default route" }
        let kind = self.family == .ipv4 ? "ipv4" : "ipv6"
        let setting = "net.\(kind).conf.\(self.subject).ignore_routes_with_linkdown=1"
        return "let the default route of \(alternative) take over: sysctl -w \(setting)"
    }

    private var addressAdvice: String {
        let kind = self.family.name
        switch self.reason {
        case .linkLocalOnly: return "Check the DHCP server or router of \(self.subject): it gave no \(kind) address."
        case .tentative:
            return "Wait two seconds: the address of \(self.subject) is still being checked for duplicates."
        case .dadFailed: return "Give \(self.subject) another address: another host on the link has the same one."
        case .noSourceAddress:
            return "Give \(self.subject) an \(kind) address that the route can use as its source."
        default: return "Give \(self.subject) an \(kind) address, or start its DHCP client."
        }
    }

    private func routeAdvice(_ target: Target) -> String {
        let host = target.shownHost
        switch self.reason {
        case .routeUnreachable:
            return "Remove the unreachable route to \(host), or bring up the VPN that it stands in for."
        case .prohibited: return "Remove the prohibit rule or route, or run as a user that it does not match."
        case .blackholed: return "Remove the blackhole rule or route that swallows what goes to \(host)."
        case .notAHost: return "Use another address: \(host) is a broadcast, multicast or anycast address."
        default:
            if let link = self.linkSwitchedOff {
                return "Bring it up (ip link set \(link) up), and restore its routes."
            }
            return target.address?.isUnspecified ?? false
                ? "Add a default \(self.family.name) route: no route leads out."
                : "Add a default \(self.family.name) route, or one to \(host): no route leads there."
        }
    }
}

extension ServerCause {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .refused: "Start the service on \(target), or check the port: the host is there and refuses."
        case .gone: "Check that \(target.shownHost) is switched on and attached to its network."
        case .absent(let address, let link):
            "Check that \(address) is switched on and attached to the network of \(link)."
        case .portSilent: "Allow port \(target.port.map { "\($0)" } ?? "used") in the firewall of \(target.shownHost)."
        case .prohibits: "Allow this host in the firewall of \(target.shownHost)."
        case .handshakeSilent, .responseSilent:
            "Ask the operator of \(target): it accepts connections and does not answer them."
        case .handshakeReset:
            "Ask the operator of \(target): a server or a firewall in front of it breaks off TLS connections."
        case .notTLS:
            "Try http:// instead: port \(target.port.map { "\($0)" } ?? "443") there does not speak TLS."
        case .handshakeRefused: "Ask the operator of \(target) which TLS versions and certificates it accepts."
        case .certificate(let error, _): error.advice(for: target)
        case .responseReset, .bodyStopped: "Ask the operator of \(target): it accepts requests and then drops them."
        case .notHTTP: "Check the port: what listens at \(target) is not a web server."
        case .status(429): "Send fewer requests: \(target) limits their rate."
        case .status(503): "Try again later: \(target) reports that it is unavailable."
        case .status(let status): "Ask the operator of \(target), or try again later: it answers with \(status)."
        }
    }
}

extension CertificateError {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .expired: "Renew the certificate of \(target); if it is valid, this host's clock is wrong (date)."
        case .expiredAuthority(let authority) where authority.isSent:
            "Let \(target) send its authority's current certificate; its own one is valid, unless this host's clock is wrong (date)."
        case .expiredAuthority: "Trust the authority's current certificate: update ca-certificates, or --cacert FILE."
        case .notYetValid: "Check this host's clock (date): the certificate of \(target) is from the future."
        case .selfSigned:
            "Give \(target) a certificate from a trusted authority, or trust this one: --cacert FILE."
        case .unknownIssuer:
            "Trust its authority (--cacert FILE), or let \(target) send its intermediate certificates."
        case .wrongName:
            "Use a name that the certificate is for, or give \(target) a certificate for \(target.shownHost)."
        case .revoked: "Give \(target) a new certificate."
        case .noStatus: "Enable OCSP stapling on \(target), or do not require it here."
        case .other: "Look at the certificate: openssl s_client -connect \(target.host):\(target.port ?? 443)."
        }
    }
}

extension SlowCause {
    /// What to do, in one sentence.
    var advice: String {
        switch self {
        case .ownQueue(_, let interface, normal: _), .ownQueueDrops(_, let interface, normal: _):
            "Limit this host's own transfers, or its shaper's rate: tc -s qdisc show dev \(interface)."
        case .weakRadio: "Move closer to the access point, or use a cable."
        case .disturbedRadio: "Choose another channel on the access point, or use a cable."
        case .lossOnLink(_, let interface): "Replace the cable of \(interface), or try another port."
        case .lossNear:
            "Try another cable or port, or move closer to the access point; if it persists, it is the router."
        case .lossInOrBehind(_, let router): "Measure for longer (--for 30s) to tell \(router) from what is behind it."
        case .lossBehind(_, router: _, isEverywhere: true): "Report the figures of this measurement to the provider."
        case .lossBehind: "Measure another destination as well: if it loses as much, report it to the provider."
        case .lossOnTheWay, .delayOnTheWay: "Try another server or another hour; nothing on this side can repair it."
        case .echoLoss: "Measure for longer (--for 30s), and compare with another destination."
        case .delayNear: "Try a cable instead of Wi-Fi, and check the load of the router."
        case .delayBehind(_, to: _, ownTraffic: nil, normal: _):
            "Check what else uses the line; if it persists, ask the provider, unless the line is a satellite's."
        case .delayBehind: "Stop this host's own transfers and measure again; if it persists, ask the provider."
        case .slowResolver: "Configure another resolver in /etc/resolv.conf, or check the load of this one."
        case .slowServer: "Check the server's log at this time."
        case .lateAccept: "Check the server's workers and its listen backlog, or a limit of connections in front of it."
        case .connection(let cause): cause.advice
        case .farResolver: "Configure a nearer resolver in /etc/resolv.conf."
        }
    }
}

extension SlowConnection {
    fileprivate var advice: String {
        switch self {
        case .unreadData(_, let program): "Look at what \(program) waits for: its disk, its CPU limit, a lock."
        case .smallBuffer: "Let the program ask for a larger receive buffer (SO_RCVBUF), or raise net.ipv4.tcp_rmem."
        case .serverDoesNotRead: "Look at the program on the server: it is behind."
        case .smallWindow: "Give the server's program a larger receive buffer."
        case .rateLimit: "Send more slowly, or ask the provider for the limit of the plan."
        case .serverPauses: "Look at what the server's program waits for between the pieces."
        }
    }
}

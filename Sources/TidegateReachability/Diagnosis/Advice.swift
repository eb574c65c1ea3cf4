internal import TidegateCore

/// What to do about a failed rung: one sentence for every reason.
enum Advice {
    /// What the sentences name.
    struct Context {
        var target: Target
        var link = "the link"
        var family = AddressFamily.ipv4
        var gateway: IPAddress?
        var resolver: IPAddress?
        /// A resolver on this host at whose port nothing listens.
        var localResolver: IPAddress?
        /// True if nothing listens at the resolver's port.
        var isResolverPortClosed = false
        /// The kind of record that an existing name lacks: `IPv6 address`.
        var missingRecord: String?
        /// The link of a live default that a dead one hides.
        var liveAlternative: String?
        /// Where a portal redirects to.
        var portal: String?
        var status: Int?

        init(target: Target) { self.target = target }

        var kind: String { self.family == .ipv4 ? "IPv4" : "IPv6" }
        var gatewayText: String { self.gateway.map { "the gateway \($0)" } ?? "the gateway" }
        var resolverText: String { self.resolver.map { "the resolver \($0)" } ?? "the resolver" }
    }

    /// The sentence if nothing failed.
    static func nothingWrong(_ target: ExplainTarget, isReached: Bool) -> String {
        switch (isReached, target.lastStage) {
        case (true, nil): "Nothing is wrong on the path to \(target); name a port or a URL to try a connection."
        case (true, _?): "Nothing to do: \(target) answers."
        case (false, _): "No failure was found; try again with more time."
        }
    }

    /// The sentence for a reason; some reasons mean something else on another rung.
    static func sentence(for reason: UnreachableReason, on rung: Rung, _ context: Context) -> String {
        switch reason.rung {
        case .monitor:
            "Allow this process its netlink sockets: a sandbox or a seccomp filter keeps it from seeing the network."
        case .interface, .carrier: self.link(reason, context)
        case .address: self.address(reason, context)
        case .route: self.route(reason, context)
        case .gateway: self.gateway(reason, context)
        case .dns: self.name(reason, context)
        case .internet: self.internet(reason, context)
        case .tcp, .tls, .http: self.target(reason, rung, context)
        }
    }

    private static func link(_ reason: UnreachableReason, _ context: Context) -> String {
        let sentences: [UnreachableReason: String] = [
            .noInterface: "Add or load a network interface: this host has none besides loopback.",
            .adminDown: "Switch the link on: ip link set \(context.link) up.",
            .noCarrier: "Plug in the cable of \(context.link), or \(self.detour(context)).",
            .dormant:
                "Finish the login of \(context.link), such as 802.1X or Wi-Fi: its network has not authorised it.",
            .lowerLayerDown: "Bring up the link that \(context.link) runs over.",
        ]
        return sentences[reason] ?? "Remove the route to the interface that is gone, or bring that interface back."
    }

    private static func detour(_ context: Context) -> String {
        guard let alternative = context.liveAlternative else { return "bring up another link with a default route" }
        let kind = context.family == .ipv4 ? "ipv4" : "ipv6"
        let setting = "net.\(kind).conf.\(context.link).ignore_routes_with_linkdown=1"
        return "let the default route of \(alternative) take over: sysctl -w \(setting)"
    }

    private static func address(_ reason: UnreachableReason, _ context: Context) -> String {
        let sentences: [UnreachableReason: String] = [
            .linkLocalOnly:
                "Check the DHCP server or router of \(context.link): it gave no \(context.kind) address.",
            .tentative: "Wait two seconds: the address of \(context.link) is still being checked for duplicates.",
            .dadFailed: "Give \(context.link) another address: another host on the link has the same one.",
            .noSourceAddress: "Give \(context.link) an \(context.kind) address that the route can use as its source.",
        ]
        return sentences[reason] ?? "Give \(context.link) an \(context.kind) address, or start its DHCP client."
    }

    private static func route(_ reason: UnreachableReason, _ context: Context) -> String {
        let host = context.target.host
        let sentences: [UnreachableReason: String] = [
            .routeUnreachable: "Remove the unreachable route to \(host), or bring up the VPN that it stands in for.",
            .prohibited: "Remove the prohibit rule or route, or run as a user that it does not match.",
            .blackholed: "Remove the blackhole rule or route that swallows what goes to \(host).",
            .notAHost: "Use another address: \(host) is a broadcast, multicast or anycast address.",
        ]
        return sentences[reason] ?? "Add a default \(context.kind) route, or one to \(host): no route leads there."
    }

    private static func gateway(_ reason: UnreachableReason, _ context: Context) -> String {
        reason == .gatewaySilent
            ? "Restart or reconnect \(context.gatewayText): it was reachable on \(context.link) and no longer answers."
            : "Check that \(context.gatewayText) is on, and on the link of \(context.link): no host there has its address."
    }

    private static func name(_ reason: UnreachableReason, _ context: Context) -> String {
        let resolver = context.resolverText
        let sentences: [UnreachableReason: String] = [
            .resolverNoRoute: "Configure a resolver in /etc/resolv.conf that has a route: \(resolver) has none.",
            .resolverTimeout: "Check \(resolver), or configure another one in /etc/resolv.conf: it does not answer.",
            .nameNotFound: self.missing(context),
        ]
        if let sentence = sentences[reason] { return sentence }
        guard let local = context.localResolver else {
            if context.isResolverPortClosed {
                return "Start the name server on \(resolver), or configure another in /etc/resolv.conf: "
                    + "nothing listens there."
            }
            return "Configure another resolver in /etc/resolv.conf, or repair \(resolver): it answers with a failure."
        }
        return "Start this host's own resolver (such as systemd-resolved): nothing listens at \(local)."
    }

    private static func missing(_ context: Context) -> String {
        let host = context.target.host
        guard let record = context.missingRecord else {
            return "Check the spelling of \(host): the resolver says that it has no address."
        }
        return "Add an \(record) to the zone of \(host): the name exists and has none."
    }

    private static func internet(_ reason: UnreachableReason, _ context: Context) -> String {
        guard reason == .portal else {
            return
                "Contact the operator of the network behind \(context.gatewayText): internet checks fail."
        }
        return "Log in to the captive portal: open \(context.portal ?? "any http page") in a browser on this network."
    }

    private static func target(_ reason: UnreachableReason, _ rung: Rung, _ context: Context) -> String {
        let target = context.target
        let sentences: [UnreachableReason: String] = [
            .refused: "Start the service on \(target), or check the port: the host is there and refuses.",
            .hostUnreachable:
                "Check that \(target.host) is running and allowed: the network reports that it cannot be reached.",
            .tlsFailed:
                "Check the certificate and TLS settings of \(target), and this host's clock and trusted authorities.",
            .httpError: self.http(context),
        ]
        if let sentence = sentences[reason] { return sentence }
        if rung == .tls {
            return "Contact the operator of \(target): it accepts connections and does not answer the TLS handshake."
        }
        if rung == .http {
            return "Contact the operator of \(target): it accepts requests and does not answer in time."
        }
        return "Check that \(target) is up and that no firewall drops packets to it: nothing answers."
    }

    private static func http(_ context: Context) -> String {
        switch context.status {
        case 407?: "Give the credentials that the proxy requires."
        case 401?, 403?: "Give the credentials that \(context.target) requires, or ask its owner for access."
        case 404?, 410?: "Check the path of the URL: \(context.target) does not have it."
        case 429?: "Send fewer requests: \(context.target) says that there are too many."
        case let status? where status < 500: "Change the request: \(context.target) answers it with \(status)."
        case let status?: "Try again later, or contact the operator of \(context.target): it answers with \(status)."
        case nil: "Contact the operator of \(context.target): its answer is not valid HTTP."
        }
    }
}

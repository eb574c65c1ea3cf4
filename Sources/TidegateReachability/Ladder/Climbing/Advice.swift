internal import TidegateCore

/// What to do about a failed rung: one plain sentence for every reason.
enum Advice {
    /// What the sentences name.
    struct Place {
        var target: Target
        var link = "the link"
        var family = AddressFamily.ipv4
        var gateway: IPAddress?
        var resolver: IPAddress?
        /// A resolver on this host itself that does not run.
        var localResolver: IPAddress?
        /// Nothing listens at the resolver.
        var isResolverDeaf = false
        /// What a name that exists has none of: `IPv6 address`.
        var missingRecord: String?
        /// The link of a live default that a dead one hides.
        var liveRival: String?
        /// Where a portal sends people.
        var portal: String?
        var status: Int?

        init(target: Target) { self.target = target }

        var kind: String { self.family == .ipv4 ? "IPv4" : "IPv6" }
        var gatewayWords: String { self.gateway.map { "the gateway \($0)" } ?? "the gateway" }
        var resolverWords: String { self.resolver.map { "the resolver \($0)" } ?? "the resolver" }
    }

    /// The sentence where nothing failed.
    static func nothingWrong(_ target: ExplainTarget, isReached: Bool) -> String {
        switch (isReached, target.lastStage) {
        case (true, nil): "Nothing is wrong on the way to \(target); name a port or a URL to try a connection."
        case (true, _?): "Nothing to do: \(target) answers."
        case (false, _): "Nothing that failed was seen; ask again, or with more time."
        }
    }

    /// The sentence for a reason; `rung` tells apart what can fail on several.
    static func sentence(for reason: UnreachableReason, on rung: Rung, _ place: Place) -> String {
        switch reason.rung {
        case .monitor:
            "Allow this process its netlink sockets: a sandbox or a seccomp filter keeps it from seeing the network."
        case .interface, .carrier: self.link(reason, place)
        case .address: self.address(reason, place)
        case .route: self.route(reason, place)
        case .gateway: self.gateway(reason, place)
        case .dns: self.name(reason, place)
        case .internet: self.internet(reason, place)
        case .tcp, .tls, .http: self.target(reason, rung, place)
        }
    }

    private static func link(_ reason: UnreachableReason, _ place: Place) -> String {
        let sentences: [UnreachableReason: String] = [
            .noInterface: "Add or load a network interface: this host has none besides loopback.",
            .adminDown: "Switch the link on: ip link set \(place.link) up.",
            .noCarrier: "Plug in the cable of \(place.link), or \(self.detour(place)).",
            .dormant: "Finish the login of \(place.link), such as 802.1X or Wi-Fi: its network has not let it in.",
            .lowerLayerDown: "Bring up the link that \(place.link) runs over.",
        ]
        return sentences[reason] ?? "Remove the route to the interface that is gone, or bring that interface back."
    }

    private static func detour(_ place: Place) -> String {
        guard let rival = place.liveRival else { return "bring up another link with a default route" }
        let kind = place.family == .ipv4 ? "ipv4" : "ipv6"
        let setting = "net.\(kind).conf.\(place.link).ignore_routes_with_linkdown=1"
        return "let the default route of \(rival) take over: sysctl -w \(setting)"
    }

    private static func address(_ reason: UnreachableReason, _ place: Place) -> String {
        let sentences: [UnreachableReason: String] = [
            .linkLocalOnly:
                "Check the DHCP server or router of \(place.link): it gave no \(place.kind) address.",
            .tentative: "Wait two seconds: the address of \(place.link) is still being checked for duplicates.",
            .dadFailed: "Give \(place.link) another address: another host on the link has the same one.",
            .noSourceAddress: "Give \(place.link) an \(place.kind) address that the route can use as its source.",
        ]
        return sentences[reason] ?? "Give \(place.link) an \(place.kind) address, or start its DHCP client."
    }

    private static func route(_ reason: UnreachableReason, _ place: Place) -> String {
        let host = place.target.host
        let sentences: [UnreachableReason: String] = [
            .routeUnreachable: "Remove the unreachable route to \(host), or bring up the VPN that it stands in for.",
            .prohibited: "Remove the prohibit rule or route, or run as a user that it does not match.",
            .blackholed: "Remove the blackhole rule or route that swallows what goes to \(host).",
            .notAHost: "Ask for another address: \(host) is a broadcast, multicast or anycast address.",
        ]
        return sentences[reason] ?? "Add a default \(place.kind) route, or one to \(host): no route leads there."
    }

    private static func gateway(_ reason: UnreachableReason, _ place: Place) -> String {
        reason == .gatewaySilent
            ? "Restart or reconnect \(place.gatewayWords): it was there on \(place.link) and has fallen silent."
            : "Check that \(place.gatewayWords) is on, and on the link of \(place.link): nobody there has its address."
    }

    private static func name(_ reason: UnreachableReason, _ place: Place) -> String {
        let resolver = place.resolverWords
        let sentences: [UnreachableReason: String] = [
            .resolverNoRoute: "Name a resolver in /etc/resolv.conf that has a route: \(resolver) has none.",
            .resolverTimeout: "Check \(resolver), or name another one in /etc/resolv.conf: it does not answer.",
            .nameNotFound: self.missing(place),
        ]
        if let sentence = sentences[reason] { return sentence }
        guard let local = place.localResolver else {
            if place.isResolverDeaf {
                return "Start the name server on \(resolver), or name another in /etc/resolv.conf: "
                    + "nothing listens there."
            }
            return "Name another resolver in /etc/resolv.conf, or mend \(resolver): it answers with a failure."
        }
        return "Start this host's own resolver (such as systemd-resolved): nothing listens at \(local)."
    }

    private static func missing(_ place: Place) -> String {
        let host = place.target.host
        guard let record = place.missingRecord else {
            return "Check the spelling of \(host): the resolver says that it has no address."
        }
        return "Ask whoever runs the zone of \(host) for an \(record): the name exists and has none."
    }

    private static func internet(_ reason: UnreachableReason, _ place: Place) -> String {
        guard reason == .portal else {
            return
                "Ask who runs the network behind \(place.gatewayWords): the internet does not answer as it should."
        }
        return "Log in to the captive portal: open \(place.portal ?? "any http page") in a browser on this network."
    }

    private static func target(_ reason: UnreachableReason, _ rung: Rung, _ place: Place) -> String {
        let target = place.target
        let sentences: [UnreachableReason: String] = [
            .refused: "Start the service on \(target), or check the port: the host is there and refuses.",
            .hostUnreachable:
                "Check that \(target.host) is running and allowed: the network reports that it cannot be reached.",
            .tlsFailed:
                "Check the certificate and TLS settings of \(target), and this host's clock and trusted authorities.",
            .httpError: self.http(place),
        ]
        if let sentence = sentences[reason] { return sentence }
        if rung == .tls {
            return "Ask whoever runs \(target): it accepts connections and then says nothing in the TLS handshake."
        }
        if rung == .http { return "Ask whoever runs \(target): it takes requests and does not answer them in time." }
        return "Look for a firewall on the way to \(target), or ask whether it is up: nobody answers at all."
    }

    private static func http(_ place: Place) -> String {
        switch place.status {
        case 407?: "Give the proxy the credentials that it asks for."
        case 401?, 403?: "Give the credentials that \(place.target) asks for, or ask its owner for access."
        case 404?, 410?: "Check the path of the URL: \(place.target) does not have it."
        case 429?: "Send fewer requests: \(place.target) says that there are too many."
        case let status? where status < 500: "Change the request: \(place.target) answers it with \(status)."
        case let status?: "Wait, or ask whoever runs \(place.target): it answers with \(status)."
        case nil: "Ask whoever runs \(place.target): it does not answer in proper HTTP."
        }
    }
}

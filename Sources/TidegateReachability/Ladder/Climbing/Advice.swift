internal import TidegateModel

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
        switch (isReached, target.depth) {
        case (true, nil): "Nothing is wrong on the way to \(target); name a port or a URL to try a connection."
        case (true, _?): "Nothing to do: \(target) answers."
        case (false, _): "Nothing that failed was seen; ask again, or with more time."
        }
    }

    /// The sentence for a reason; `rung` tells apart what can fail on several.
    static func sentence(for reason: Unreachable, on rung: Rung, _ place: Place) -> String {
        switch reason.rung {
        case .monitor:
            "Allow netlink sockets to this process: a sandbox or a seccomp filter keeps it from reading the network's state."
        case .interface, .carrier: self.link(reason, place)
        case .address: self.address(reason, place)
        case .route: self.route(reason, place)
        case .gateway: self.gateway(reason, place)
        case .dns: self.name(reason, place)
        case .internet: self.internet(reason, place)
        case .tcp, .tls, .http: self.target(reason, rung, place)
        }
    }

    private static func link(_ reason: Unreachable, _ place: Place) -> String {
        switch reason {
        case .noInterface: "Add or load a network interface: this host has none besides loopback."
        case .adminDown: "Switch the link on: ip link set \(place.link) up."
        case .noCarrier: "Plug in the cable of \(place.link), or bring up another link with a default route."
        case .dormant: "Finish the login of \(place.link), such as 802.1X or Wi-Fi: its network has not let it in."
        case .lowerLayerDown: "Bring up the link that \(place.link) runs over."
        default: "Remove the route to the interface that is gone, or bring that interface back."
        }
    }

    private static func address(_ reason: Unreachable, _ place: Place) -> String {
        switch reason {
        case .linkLocalOnly:
            "Check the DHCP server or router on \(place.link): it gave this host no \(place.kind) address but a link-local one."
        case .tentative: "Wait two seconds: the address of \(place.link) is still being checked for duplicates."
        case .dadFailed: "Give \(place.link) another address: another host on the link has the same one."
        case .noSourceAddress: "Give \(place.link) an \(place.kind) address that the route can use as its source."
        default: "Give \(place.link) an \(place.kind) address, or start its DHCP client."
        }
    }

    private static func route(_ reason: Unreachable, _ place: Place) -> String {
        switch reason {
        case .routeUnreachable:
            "Remove the unreachable route to \(place.target.host), or bring up the VPN that it stands in for."
        case .prohibited: "Remove the prohibit rule or route, or run as a user that it does not match."
        case .blackholed: "Remove the blackhole rule or route that swallows what goes to \(place.target.host)."
        case .notAHost: "Ask for another address: \(place.target.host) is a broadcast, multicast or anycast address."
        default: "Add a default \(place.kind) route, or one to \(place.target.host): no route leads there."
        }
    }

    private static func gateway(_ reason: Unreachable, _ place: Place) -> String {
        reason == .gatewaySilent
            ? "Restart or reconnect \(place.gatewayWords): it was there on \(place.link) and has fallen silent."
            : "Check that \(place.gatewayWords) is switched on and on the same link as \(place.link): nobody there has its address."
    }

    private static func name(_ reason: Unreachable, _ place: Place) -> String {
        switch reason {
        case .resolverNoRoute: "Name a resolver in /etc/resolv.conf that has a route: \(place.resolverWords) has none."
        case .resolverTimeout:
            "Check \(place.resolverWords), or name another one in /etc/resolv.conf: it does not answer."
        case .nameNotFound: "Check the spelling of \(place.target.host): the resolver says that it has no address."
        default:
            if let local = place.localResolver {
                "Start this host's own resolver (such as systemd-resolved): nothing listens at \(local)."
            } else {
                "Name another resolver in /etc/resolv.conf, or mend \(place.resolverWords): it answers with a failure."
            }
        }
    }

    private static func internet(_ reason: Unreachable, _ place: Place) -> String {
        guard reason == .portal else {
            return
                "Ask whoever runs the network behind \(place.gatewayWords): packets leave, and the internet does not answer as it should."
        }
        return "Log in to the captive portal: open \(place.portal ?? "any http page") in a browser on this network."
    }

    private static func target(_ reason: Unreachable, _ rung: Rung, _ place: Place) -> String {
        let target = place.target
        switch reason {
        case .refused: return "Start the service on \(target), or check the port: the host is there and refuses."
        case .hostUnreachable:
            return "Check that \(target.host) is running and allowed: the network reports that it cannot be reached."
        case .tlsFailed:
            return "Check the certificate and TLS settings of \(target), and this host's clock and trusted authorities."
        case .httpError: return self.http(place)
        default:
            return switch rung {
            case .tls: "Ask whoever runs \(target): it accepts connections and then says nothing in the TLS handshake."
            case .http: "Ask whoever runs \(target): it takes requests and does not answer them in time."
            default: "Look for a firewall on the way to \(target), or ask whether it is up: nobody answers at all."
            }
        }
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

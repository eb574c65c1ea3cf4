internal import TidegateCore

extension HostCause {
    func advice(for target: Target) -> String {
        switch self {
        case .kernel(let refusal): refusal.advice(for: target)
        case .filter: "Look for the rule that rejects \(target): nft list ruleset."
        case .nothingListens(_, let port):
            port.map { "Start the service that should listen on port \($0), and see what does listen: ss -ltnp." }
                ?? "Start the service that should answer there, and see what does listen: ss -lntup."
        case .nameNotFound(let name, let resolver):
            "Check the spelling of \(name): \(resolver.map { "the resolver \($0)" } ?? "the resolver") knows other names."
        case .missingRecord(let name, let family):
            "Add an \(family.map { "\($0.name) " } ?? "")address to the zone of \(name), or use the version it has."
        case .hostsFile(let name, let address, dns: _):
            "Correct or remove the line of \(name) in /etc/hosts: \(address) does not work."
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
                : "Allow this process its netlink sockets: a sandbox or a seccomp filter keeps it from seeing the network."
        }
    }

    private var linkAdvice: String {
        switch self.reason {
        case .noInterface: "Add or load a network interface: this host has none besides loopback."
        case .adminDown: "Switch the link on: ip link set \(self.subject) up."
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
                return "Switch it on: ip link set \(link) up; its routes left with it."
            }
            return "Add a default \(self.family.name) route, or one to \(host): no route leads there."
        }
    }
}

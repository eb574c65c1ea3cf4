/// What is wrong with this host, or with what it was asked to do.
package enum HostCause: Sendable, Hashable {
    /// The kernel would not send the packet.
    case kernel(KernelRefusal)
    /// A filter of this host rejects the packets.
    case filter(ICMPError?)
    /// The target is this host, and nothing listens there.
    case nothingListens(IPAddress, port: UInt16?)
    /// The name does not exist; `resolver` answers for names that do.
    case nameNotFound(String, resolver: IPAddress?)
    /// The name exists, and has no address of the wanted version.
    case missingRecord(String, of: AddressFamily?)
    /// The address comes from /etc/hosts, does not work, and DNS says another one.
    case hostsFile(String, address: IPAddress, dns: [IPAddress])
    /// /etc/resolv.conf names no server.
    case noNameserver
    /// The server answered that the request is wrong.
    case request(status: Int)

    /// Why the kernel would not send a packet.
    package struct KernelRefusal: Sendable, Hashable {
        /// The rung that fails first.
        package var reason: UnreachableReason
        /// The link that the reason is about.
        package var link: String?
        /// The IP version.
        package var family: AddressFamily
        /// The link of a live default route that a dead one hides.
        package var liveAlternative: String?
        /// A link that is switched off, and whose routes may be what is missing.
        package var linkSwitchedOff: String?

        /// A refusal from its parts.
        package init(
            reason: UnreachableReason, link: String? = nil, family: AddressFamily, liveAlternative: String? = nil,
            linkSwitchedOff: String? = nil
        ) {
            self.reason = reason
            self.link = link
            self.family = family
            self.liveAlternative = liveAlternative
            self.linkSwitchedOff = linkSwitchedOff
        }
    }
}

extension HostCause: CauseKind {
    package var description: String {
        switch self {
        case .kernel(let refusal): refusal.description
        case .filter: "this host's own firewall rejects it"
        case .nothingListens(let address, let port):
            port.map { "nothing listens on port \($0) of this host" } ?? "nothing listens on \(address) of this host"
        case .nameNotFound(let name, resolver: _): "\(name) does not exist"
        case .missingRecord(let name, let family): "\(name) has no \(family.map { "\($0.name) " } ?? "")address"
        case .hostsFile(let name, let address, let dns):
            dns.isEmpty
                ? "\(address) comes from /etc/hosts, and DNS does not know \(name)"
                : "\(address) comes from /etc/hosts; DNS says \(dns.map(\.description).joined(separator: ", "))"
        case .noNameserver: "/etc/resolv.conf names no server"
        case .request(let status): "the server answered \(status)"
        }
    }

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

    var code: String {
        switch self {
        case .kernel(let refusal): refusal.reason.rawValue
        case .filter: "ownFirewall"
        case .nothingListens: "nothingListens"
        case .nameNotFound: "nameNotFound"
        case .missingRecord: "missingRecord"
        case .hostsFile: "hostsFile"
        case .noNameserver: "noNameserver"
        case .request: "request"
        }
    }
}

extension HostCause.KernelRefusal: CustomStringConvertible {
    /// The reason, about the link at fault.
    package var description: String {
        guard self.reason == .noRoute, let link = self.linkSwitchedOff else {
            return self.reason.description(ofLink: self.link)
        }
        return "no route, and \(link) is switched off"
    }

    private var subject: String { self.link ?? "the link" }

    func advice(for target: Target) -> String {
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

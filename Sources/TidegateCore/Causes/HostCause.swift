/// What is wrong with this host, or with the request it was given.
package enum HostCause: Sendable, Hashable {
    /// The kernel would not send the packet.
    case kernel(KernelRefusal)
    /// A filter of this host rejects the packets.
    case filter(ICMPError?)
    /// The kernel's table of connections is full, and new ones are dropped (nf_conntrack-sysctl).
    case connectionTable(count: UInt64, limit: UInt64)
    /// So many packets arrived while the target was asked, and a filter of this host dropped them.
    case dropsAnswers(count: UInt64, from: IPAddress)
    /// The target is this host, and nothing listens there.
    case nothingListens(IPAddress, port: UInt16?)
    /// No route of this host leads to a private address: packets went out to the internet, as far as a router there.
    ///
    /// A tunnel that is down may have had the route.
    case privateAddress(IPAddress, isResolver: Bool, after: IPAddress, down: String?)
    /// The translator of IPv4 into IPv6 on this host (CLAT, RFC 6877) takes packets and brings none back.
    case silentTranslator(String)
    /// A tunnel's own packets are routed into the tunnel.
    case tunnelInItself(String)
    /// A link's packets have the source address of another link, so that their answers go there (ip-rule(8)).
    case foreignSource(IPAddress, link: String, of: String)
    /// The neighbour entry of the silent gateway is static, so that the kernel never asks for its link-layer address.
    case staticNeighbour(IPAddress, link: String)
    /// Answers came in by another link than the packets left by, and this host dropped them (rp_filter in ip-sysctl).
    case reversePathFilter(count: UInt64, link: String)
    /// The name does not exist; `resolver` answers for names that do.
    case nameNotFound(String, resolver: IPAddress?)
    /// The name exists, and has no address of the wanted version.
    case missingRecord(String, of: AddressFamily?)
    /// The address comes from /etc/hosts, does not work, and DNS has another one.
    case hostsFile(String, address: IPAddress, dns: [IPAddress])
    /// /etc/resolv.conf names no server.
    case noNameserver
    /// This process did not run for so long: stopped, in a paused container, or in a paused virtual machine.
    case frozen(Duration)
    /// This process may open no more sockets (EMFILE and ENFILE, socket(2)).
    case noDescriptor
    /// The server answered that the request is wrong.
    case request(status: Int)

    /// Why the kernel would not send a packet.
    package struct KernelRefusal: Sendable, Hashable, CustomStringConvertible {
        /// The rung that fails first.
        package var reason: UnreachableReason
        /// The link that the reason is about.
        package var link: String?
        /// The IP version.
        package var family: AddressFamily
        /// The link of a live default route that a dead one hides.
        package var liveAlternative: String?
        /// A link that is switched off; its routes may be the missing ones.
        package var linkSwitchedOff: String?

        /// The reason, about the link at fault.
        package var description: String {
            guard self.reason == .noRoute, let link = self.linkSwitchedOff else {
                return self.reason.description(ofLink: self.link)
            }
            return "no route: \(link) is down (ip link set \(link) up); its routes were removed with it"
        }
    }

    var texts: CauseTexts {
        switch self {
        case .kernel(let refusal): (refusal.reason.rawValue, refusal.description)
        case .filter: ("ownFirewall", "this host's own firewall rejects it")
        case .nothingListens(_, let port?): ("nothingListens", "nothing listens on port \(port) of this host")
        case .nothingListens(let address, nil): ("nothingListens", "nothing listens on \(address) of this host")
        case .silentTranslator(let link):
            ("translatorSilent", "nothing comes back from the translator of IPv4 at \(link)")
        case .tunnelInItself(let tunnel):
            ("tunnelInItself", "the packets of the tunnel \(tunnel) are routed into it: no route leads past it")
        case .privateAddress(let address, isResolver: let isResolver, after: let router, down: _):
            (
                "noPrivateRoute",
                "this host has no route to the \(isResolver ? "name server" : "private address") \(address); "
                    + "packets end after \(router)"
            )
        case .connectionTable(let count, let limit):
            ("connectionTable", "the table of connections of this host is full (\(count) of \(limit))")
        case .dropsAnswers(let count, let address):
            ("filterDropsAnswers", "a filter of this host dropped \(count) packets while \(address) was asked")
        case .frozen(let time): ("frozen", "this process did not run for \(time.shortText)")
        case .foreignSource(let source, let link, let other):
            ("foreignSource", "packets leave \(link) with \(source), the address of \(other), and get no answer")
        case .staticNeighbour(let gateway, let link):
            ("staticNeighbour", "\(gateway) has a static neighbour entry on \(link), and does not answer there")
        case .reversePathFilter(let count, let link):
            ("reversePathFilter", "rp_filter dropped \(count) packets: answers do not come in by \(link)")
        case .nameNotFound(let name, resolver: _): ("nameNotFound", "\(name) does not exist")
        case .missingRecord(let name, let family):
            ("missingRecord", "\(name) has no \(family.map { "\($0.name) " } ?? "")address")
        case .hostsFile(let name, let address, dns: []):
            ("hostsFile", "\(address) comes from /etc/hosts, and DNS does not know \(name)")
        case .hostsFile(_, let address, let dns):
            (
                "hostsFile",
                "\(address) comes from /etc/hosts; DNS says \(dns.map(\.description).joined(separator: ", "))"
            )
        case .noNameserver: ("noNameserver", "/etc/resolv.conf names no server")
        case .noDescriptor: ("noDescriptor", "this process has no file descriptor left for its checks")
        case .request(let status): ("request", "the server answered \(status)")
        }
    }
}

extension HostCause.KernelRefusal {
    /// A refusal without further details.
    package init(reason: UnreachableReason, family: AddressFamily) {
        self.reason = reason
        self.family = family
    }
}

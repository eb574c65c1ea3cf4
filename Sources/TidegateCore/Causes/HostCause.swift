/// What is wrong with this host, or with the request it was given.
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
    /// The address comes from /etc/hosts, does not work, and DNS has another one.
    case hostsFile(String, address: IPAddress, dns: [IPAddress])
    /// /etc/resolv.conf names no server.
    case noNameserver
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

package import TidegateCore

/// Links and addresses as the kernel last reported them.
///
/// Routes are not kept, because they could be outdated without any message.
package struct KernelTables: Sendable {
    /// The effect of a message.
    package enum Change: Sendable, Hashable {
        /// Nothing changed.
        case none
        /// Something changed, and no link lost anything.
        case some
        /// A link or an address that could carry traffic no longer can.
        case loss
    }

    package private(set) var links: [UInt32: KernelLink] = [:]
    private var addressesByLink: [UInt32: [KernelAddress]] = [:]
    // One counter for all indexes: a counter for each would grow with every container.
    private var removedLinks: UInt32 = 0

    package init(links: [KernelLink] = [], addresses: [KernelAddress] = []) {
        self.merge(links: links, addresses: addresses)
    }

    /// The addresses on a link, in the kernel's order.
    package func addresses(on link: UInt32) -> [KernelAddress] { self.addressesByLink[link] ?? [] }

    /// Every address.
    package var addresses: some Sequence<KernelAddress> { self.addressesByLink.values.joined() }

    package func link(_ index: UInt32) -> KernelLink? { self.links[index] }

    /// Applies a message; it may arrive twice or late, so it replaces its whole row.
    package mutating func apply(_ message: NetlinkMessage) -> Change {
        switch message {
        case .link(let link): self.upsert(link)
        case .linkGone(let index): self.remove(link: index)
        case .address(let address): self.upsert(address)
        case .addressGone(let address): self.remove(address)
        case .route, .routeGone, .changed, .overrun: .some
        case .error, .done, .ignored: .none
        }
    }

    /// Replaces everything by a dump; a link that kept its index keeps its generation.
    package mutating func replace(links: [KernelLink], addresses: [KernelAddress]) {
        let known = Set(links.map(\.index))
        for index in self.links.keys where !known.contains(index) { _ = self.remove(link: index) }
        self.addressesByLink = [:]
        self.merge(links: links, addresses: addresses)
    }

    /// Adds an interrupted dump: entries that it lacks may only have been skipped.
    package mutating func merge(links: [KernelLink], addresses: [KernelAddress]) {
        for link in links { _ = self.upsert(link) }
        for address in addresses { _ = self.upsert(address) }
    }

    /// Sets a link's kind, and whether it is a metered tether.
    package mutating func classify(_ index: UInt32, as kind: Link.Kind, isTether: Bool = false) {
        self.links[index]?.kind = kind
        self.links[index]?.isTether = isTether
    }

    private mutating func upsert(_ link: KernelLink) -> Change {
        var link = link
        if let known = self.links[link.index], known.isOtherDevice(than: link) { _ = self.remove(link: link.index) }
        let old = self.links[link.index]
        link.generation = old?.generation ?? self.removedLinks
        link.kind = old?.kind ?? link.kind
        link.isTether = old?.isTether ?? link.isTether
        self.links[link.index] = link
        guard let old, old != link else { return old == nil ? .some : .none }
        let isLoss = old.canCarry && !link.canCarry || old.master != link.master
        return isLoss ? .loss : .some
    }

    private mutating func remove(link index: UInt32) -> Change {
        guard let gone = self.links.removeValue(forKey: index) else { return .none }
        self.addressesByLink[index] = nil
        self.removedLinks &+= 1
        return gone.canCarry ? .loss : .some
    }

    private mutating func upsert(_ address: KernelAddress) -> Change {
        var list = self.addressesByLink[address.link] ?? []
        if let position = list.firstIndex(where: { $0.isSameAddress(as: address) }) {
            guard list[position] != address else { return .none }
            list[position] = address
        } else {
            list.append(address)
        }
        self.addressesByLink[address.link] = list
        return .some
    }

    private mutating func remove(_ address: KernelAddress) -> Change {
        guard let position = self.addressesByLink[address.link]?.firstIndex(where: { $0.isSameAddress(as: address) })
        else { return .none }
        self.addressesByLink[address.link]?.remove(at: position)
        if self.addressesByLink[address.link]?.isEmpty ?? true { self.addressesByLink[address.link] = nil }
        return .loss
    }
}

extension KernelLink {
    fileprivate var canCarry: Bool {
        self.isAdminUp && self.hasCarrier && (self.operState == .up || self.operState == .unknown)
    }

    // If the messages about a removed link were lost, its index may belong to another one; a counter that decreased
    // proves it.
    fileprivate func isOtherDevice(than later: KernelLink) -> Bool {
        if self.infoKind != later.infoKind || self.hardwareType != later.hardwareType { return true }
        guard let before = self.carrierLosses, let now = later.carrierLosses else { return false }
        return now < before
    }
}

/// What sysfs reports about a link.
package struct LinkFacts: Sendable, Hashable {
    /// DEVTYPE of the uevent file, such as `wlan` or `wwan`.
    package var deviceType: String? = nil
    package var isWireless: Bool = false
    package var hasDevice: Bool = false
}

/// Determines the kind of a link: by its driver first, by its name last.
package enum LinkClassifier {
    private static let kinds: [String: Link.Kind] = [
        "bridge": .bridge, "bond": .bond, "team": .bond, "tun": .tunnel, "wireguard": .tunnel, "gre": .tunnel,
        "gretap": .tunnel, "ip6gre": .tunnel, "ipip": .tunnel, "ip6tnl": .tunnel, "sit": .tunnel, "vti": .tunnel,
        "vti6": .tunnel, "xfrm": .tunnel, "ppp": .tunnel, "vxlan": .tunnel, "geneve": .tunnel, "ip6gretap": .tunnel,
        "erspan": .tunnel, "ip6erspan": .tunnel, "ovpn": .tunnel, "gtp": .tunnel, "bareudp": .tunnel, "amt": .tunnel,
        "wwan": .cellular, "rmnet": .cellular, "virt_wifi": .wifi,
        // The usual interfaces of containers, and the ports of a switch chip.
        "veth": .ethernet, "netkit": .ethernet, "dsa": .ethernet,
    ]
    private static let hardware: [UInt16: Link.Kind] = [
        772: .loopback, 512: .tunnel, 768: .tunnel, 769: .tunnel, 776: .tunnel, 778: .tunnel, 65534: .tunnel,
        519: .cellular, 530: .cellular, 801: .wifi, 802: .wifi, 803: .wifi, 823: .tunnel,
    ]
    private static let deviceTypes: [String: Link.Kind] = [
        "wlan": .wifi, "wwan": .cellular, "bridge": .bridge, "bond": .bond, "vlan": .virtual, "vxlan": .tunnel,
        "gadget": .ethernet,
    ]
    private static let ethernet: UInt16 = 1

    /// True for a phone's network over Bluetooth, which is metered.
    package static func isTether(_ facts: LinkFacts?) -> Bool { facts?.deviceType == "bluetooth" }

    /// The kind; `facts` is called only if the kernel's message does not decide, and may return nil.
    package static func kind(of link: KernelLink, facts: () -> LinkFacts?) -> Link.Kind {
        if let driver = link.infoKind { return self.kinds[driver] ?? .virtual }
        if let kind = self.hardware[link.hardwareType] { return kind }
        let known = facts()
        let facts = known ?? LinkFacts()
        if let kind = facts.deviceType.flatMap({ self.deviceTypes[$0] }) { return kind }
        if facts.isWireless { return .wifi }
        if ["rmnet", "rev_rmnet", "ccmni", "wwan"].contains(where: link.name.hasPrefix) { return .cellular }
        guard link.hardwareType == self.ethernet else { return .other }
        // Drivers without hardware report their kind, so a link without one is hardware, also if sysfs has no entry.
        return facts.hasDevice || known == nil ? .ethernet : .virtual
    }
}

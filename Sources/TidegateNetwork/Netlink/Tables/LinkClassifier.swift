package import TidegateCore

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

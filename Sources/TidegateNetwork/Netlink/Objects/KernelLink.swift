package import TidegateCore

/// A link as the kernel describes it.
package struct KernelLink: Sendable, Hashable {
    package var index: UInt32
    /// Distinguishes links that had the same index one after the other.
    package var generation: UInt32 = 0
    package var name: String
    /// IFF_* (netdevice(7)).
    package var flags: UInt32
    package var operState: Link.OperState = .unknown
    /// ARPHRD_*.
    package var hardwareType: UInt16 = 1
    /// IFLA_INFO_KIND: `bridge`, `veth`, `tun`…; nil for hardware.
    package var infoKind: String?
    package var kind: Link.Kind = .other
    package var master: UInt32?
    package var carrierLosses: UInt32?
    /// Alternative names (IFLA_ALT_IFNAME).
    package var alternativeNames: [String] = []
    /// The link that this one runs on, in the same namespace: a VLAN's parent, a tunnel's `dev` (IFLA_LINK).
    package var lower: UInt32?
    /// True for a phone's network over Bluetooth, which is metered.
    package var isTether = false
    /// The table of a VRF's routes (IFLA_VRF_TABLE).
    package var vrfTable: UInt32?

    package static let flagUp: UInt32 = 1 << 0
    package static let flagLoopback: UInt32 = 1 << 3
    package static let flagPointToPoint: UInt32 = 1 << 4
    package static let flagNoNeighbours: UInt32 = 1 << 7
    package static let flagLowerUp: UInt32 = 1 << 16

    package var isAdminUp: Bool { self.flags & KernelLink.flagUp != 0 }
    package var hasCarrier: Bool { self.flags & KernelLink.flagLowerUp != 0 }
    /// False for links on which no address is resolved: tunnels, point-to-point links (netdevice(7)).
    package var hasNeighbours: Bool {
        self.flags & (KernelLink.flagNoNeighbours | KernelLink.flagPointToPoint) == 0
    }
    package var isLoopback: Bool { self.flags & KernelLink.flagLoopback != 0 }
}

/// An address on a link as the kernel describes it.
package struct KernelAddress: Sendable, Hashable {
    /// The link's index.
    package var link: UInt32
    /// The local address; never the peer's.
    package var prefix: IPPrefix
    /// The other end of a point-to-point link; nil if it is the same address.
    package var peer: IPAddress?
    /// IFA_F_* (rtnetlink(7)).
    package var flags: UInt32 = 0

    package static let flagOptimistic: UInt32 = 0x04
    package static let flagDadFailed: UInt32 = 0x08
    package static let flagDeprecated: UInt32 = 0x20
    package static let flagTentative: UInt32 = 0x40

    package var address: IPAddress { self.prefix.address }

    /// True if only flags and scope may differ.
    func isSameAddress(as other: KernelAddress) -> Bool {
        self.link == other.link && self.prefix == other.prefix && self.peer == other.peer
    }
}

/// A neighbour by its address and link.
package struct NeighbourKey: Sendable, Hashable {
    package var address: IPAddress
    /// The link's index.
    package var link: UInt32

    package init(_ address: IPAddress, on link: UInt32) {
        self.address = address.withoutZone
        self.link = link
    }
}

/// An entry of the neighbour table (ip-neighbour(8)).
package struct KernelNeighbour: Sendable, Hashable {
    /// The state of the entry (NUD_*, arp(7)).
    package enum State: String, Sendable, Hashable, CaseIterable {
        case none, incomplete, reachable, stale, delay, probe, failed, noarp, permanent

        /// From NUD_*: a bit for each case behind `none`, in their order; the bits exclude each other.
        init(bits: UInt16) {
            let place = bits.trailingZeroBitCount + 1
            self = Self.allCases.indices.contains(place) ? Self.allCases[place] : .none
        }
    }

    package var address: IPAddress
    /// The link's index.
    package var link: UInt32
    package var state: State
    /// The link-layer address, such as `02:42:ac:11:00:02`; nil if unknown.
    package var linkLayerAddress: String?
    /// How long before the read the entry was last confirmed; nil if the kernel does not report it.
    package var confirmedAge: Duration?

    package var key: NeighbourKey { NeighbourKey(self.address, on: self.link) }
}

/// Settings of a link that affect routes (ip-sysctl in the kernel's documentation).
struct KernelSettings: Hashable {
    var reversePathFilter: Int?
    var ignoresLinkdown: Bool?
}

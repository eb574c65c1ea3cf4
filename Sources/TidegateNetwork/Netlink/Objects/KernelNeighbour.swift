package import TidegateCore

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
    }

    package var address: IPAddress
    /// The link's index.
    package var link: UInt32
    package var state: State
    /// Such as `02:42:ac:11:00:02`; nil if none is known.
    package var linkLayerAddress: String?
    /// How long ago it was last confirmed when the entry was read; nil if the kernel does not say.
    package var confirmedAge: Duration?

    package var key: NeighbourKey { NeighbourKey(self.address, on: self.link) }
}

extension KernelNeighbour.State {
    /// From NUD_*; the bits exclude each other.
    init(bits: UInt16) {
        let states: [(UInt16, KernelNeighbour.State)] = [
            (0x01, .incomplete), (0x02, .reachable), (0x04, .stale), (0x08, .delay), (0x10, .probe), (0x20, .failed),
            (0x40, .noarp), (0x80, .permanent),
        ]
        self = states.first { bits & $0.0 != 0 }?.1 ?? .none
    }
}

/// Settings of a link that affect routes (ip-sysctl in the kernel's documentation).
struct KernelSettings: Hashable {
    var reversePathFilter: Int?
    var ignoresLinkdown: Bool?
}

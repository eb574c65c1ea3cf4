/// A kernel interface as the verdict sees it.
public struct Link: Sendable, Hashable {
    /// The kind of link, as JSON names it.
    public enum Kind: String, Sendable, CaseIterable, MetricLabel {
        case ethernet, wifi, cellular, tunnel, bridge, bond, loopback, virtual, other
    }

    /// The operational state of RFC 2863, as the kernel names it.
    package enum OperState: String, Sendable, CaseIterable {
        case unknown
        case notPresent = "notpresent"
        case down
        case lowerLayerDown = "lowerlayerdown"
        case testing
        case dormant
        case up
    }

    /// The interface name, as `ip link` prints it.
    public var name: String
    /// The interface index, 1 and up.
    package var index: UInt32
    /// Counts the lives of an index within this process: a deleted and re-created index is another link.
    package var generation: UInt32 = 0
    /// The kind of link.
    public var kind: Kind
    /// True when the link is administratively up (IFF_UP).
    package var isAdminUp = false
    /// True when the lower layer has the medium (IFF_LOWER_UP).
    package var hasCarrier = false
    /// The operational state.
    package var operState = OperState.unknown
    /// The first reason why the link cannot carry traffic; nil when it can.
    public var reason: UnreachableReason?
    /// The index of the bridge, bond or VRF this link is a port of.
    package var master: UInt32?
    /// The addresses on the link, in the kernel's order.
    public var addresses: [IPPrefix] = []
    /// The families for which the link has an address that counts: neither link-local nor still being checked.
    package var usableFamilies: Set<AddressFamily> = []
    /// How often the carrier was lost since the link exists, by the kernel's own counter; nil if it has none.
    package var carrierLosses: UInt32?
    /// True for links that the configuration keeps out of series and `link.changed` events.
    package var isExcluded = false
    /// Other names that administrators gave it (`altname` in ip-link(8)).
    package var alternativeNames: [String] = []

    /// True if `name` names this link: its own name, or an alternative one.
    package func isNamed(_ name: String) -> Bool { self.name == name || self.alternativeNames.contains(name) }

    /// True when the link can carry traffic to other hosts now; a loopback never does.
    public var isUsable: Bool { self.reason == nil && self.kind != .loopback }

    var changeJSON: JSONValue {
        [
            "admin": .string(self.isAdminUp ? "up" : "down"), "carrier": .bool(self.hasCarrier),
            "operstate": .string(self.operState.rawValue), "usable": .bool(self.isUsable),
            "reason": .optional(self.reason?.rawValue),
        ]
    }

    func json(among links: [Link]) -> JSONValue {
        let master = self.master.map { index in links.first { $0.index == index }?.name ?? String(index) }
        return [
            "name": .string(self.name), "index": .whole(self.index), "type": .string(self.kind.rawValue),
            "admin": .string(self.isAdminUp ? "up" : "down"), "carrier": .bool(self.hasCarrier),
            "operstate": .string(self.operState.rawValue), "usable": .bool(self.isUsable),
            "reason": .optional(self.reason?.rawValue), "master": .optional(master),
            "addresses": .texts(self.addresses.map(\.description)),
        ]
    }
}

extension Link {
    /// A link about which nothing else is known.
    package init(name: String, index: UInt32, kind: Kind) {
        (self.name, self.index, self.kind) = (name, index, kind)
    }
}

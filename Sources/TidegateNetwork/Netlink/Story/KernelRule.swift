package import TidegateCore

/// A routing policy rule as the kernel lists it (ip-rule(8)).
package struct KernelRule: Sendable, Hashable {
    /// What happens to a packet that the rule matches.
    package enum Action: Sendable, Hashable {
        /// Look into this table; go on to the next rule where it has no answer.
        case lookup(UInt32)
        /// Go on at the rule with this priority.
        case goTo(UInt32)
        case unreachable, prohibit, blackhole
        /// FR_ACT_*: nop, and what no kernel has yet.
        case other(UInt8)
    }

    /// A mark, and the bits of it that count.
    package struct Mark: Sendable, Hashable {
        package var value: UInt32
        package var mask: UInt32

        package init(_ value: UInt32, mask: UInt32 = .max) {
            self.value = value
            self.mask = mask
        }
    }

    package var family: AddressFamily
    /// The lower, the sooner it is tried.
    package var priority: UInt32
    package var action: Action
    /// Where packets come from; nil for anywhere.
    package var source: IPPrefix?
    /// Where packets go; nil for anywhere.
    package var destination: IPPrefix?
    package var mark: Mark?
    package var uidRange: ClosedRange<UInt32>?
    /// IPPROTO_* (protocols(5)).
    package var ipProtocol: UInt8?
    package var sourcePorts: ClosedRange<UInt16>?
    package var destinationPorts: ClosedRange<UInt16>?
    /// The link that a packet comes in by; `lo` for this host's own packets.
    package var inputName: String?
    /// The link that a socket is bound to.
    package var outputName: String?
    /// The type of service that a packet has to have; 0 for any.
    package var typeOfService: UInt8 = 0
    /// `not`: the rule matches where its selectors do not.
    package var isInverted = false
    /// An answer of the table with as many network bits or fewer does not count; nil for all count.
    package var suppressPrefixLength: UInt32?
    /// The table is that of the VRF that the packet belongs to.
    package var isL3Master = false

    package init(_ family: AddressFamily = .ipv4, priority: UInt32, _ action: Action) {
        self.family = family
        self.priority = priority
        self.action = action
    }

    /// The table that the rule leads to; nil where it leads to none of its own.
    package var table: UInt32? {
        switch self.action {
        case .lookup(let table): self.isL3Master ? nil : table
        case .goTo, .unreachable, .prohibit, .blackhole, .other: nil
        }
    }
}

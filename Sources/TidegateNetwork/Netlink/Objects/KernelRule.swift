package import TidegateCore

/// A routing policy rule as the kernel lists it (ip-rule(8)).
package struct KernelRule: Sendable, Hashable {
    /// What happens to a packet that the rule matches.
    package enum Action: Sendable, Hashable {
        /// Look into this table; continue with the next rule if it has no answer.
        case lookup(UInt32)
        /// Continue at the rule with this priority.
        case goTo(UInt32)
        case unreachable, prohibit, blackhole
        /// FR_ACT_*: nop, and actions of later kernels.
        case other(UInt8)
    }

    /// A mark, and the mask of the bits that are compared.
    package struct Mark: Sendable, Hashable {
        package var value: UInt32
        package var mask: UInt32

        package init(_ value: UInt32, mask: UInt32 = .max) {
            self.value = value
            self.mask = mask
        }
    }

    package var family: AddressFamily
    /// Lower is evaluated first.
    package var priority: UInt32
    package var action: Action
    /// The packet's source; nil for any.
    package var source: IPPrefix?
    /// The packet's destination; nil for any.
    package var destination: IPPrefix?
    package var mark: Mark?
    package var uidRange: ClosedRange<UInt32>?
    /// IPPROTO_* (protocols(5)).
    package var ipProtocol: UInt8?
    package var sourcePorts: ClosedRange<UInt16>?
    package var destinationPorts: ClosedRange<UInt16>?
    /// The link that a packet arrives on; `lo` for this host's own packets.
    package var inputName: String?
    /// The link that a socket is bound to.
    package var outputName: String?
    /// The packet's type of service; 0 for any.
    package var typeOfService: UInt8 = 0
    /// `not`: the rule matches if its selectors do not.
    package var isInverted = false
    /// A route of the table with as many network bits or fewer is ignored; nil if none is.
    package var suppressPrefixLength: UInt32?
    /// The table is the one of the packet's VRF.
    package var isL3Master = false

    package init(_ family: AddressFamily = .ipv4, priority: UInt32, _ action: Action) {
        self.family = family
        self.priority = priority
        self.action = action
    }

    /// The table that the rule names; nil if it names none.
    package var table: UInt32? {
        switch self.action {
        case .lookup(let table): self.isL3Master ? nil : table
        case .goTo, .unreachable, .prohibit, .blackhole, .other: nil
        }
    }
}

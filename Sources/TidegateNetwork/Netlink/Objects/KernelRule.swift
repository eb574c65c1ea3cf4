package import TidegateCore

/// A routing policy rule as the kernel lists it (ip-rule(8)).
package struct KernelRule: Sendable, Hashable, CustomStringConvertible {
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

    /// A mark, and the mask that selects the bits to compare.
    package struct Mark: Sendable, Hashable {
        package var value: UInt32
        package var mask = UInt32.max
    }
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
    /// Routes of the table with at most this many network bits are ignored; nil to ignore none.
    package var suppressPrefixLength: UInt32?
    /// The table is the one of the packet's VRF.
    package var isL3Master = false

    /// The table that the rule names; nil if it names none.
    package var table: UInt32? {
        switch self.action {
        case .lookup(let table): self.isL3Master ? nil : table
        case .goTo, .unreachable, .prohibit, .blackhole, .other: nil
        }
    }

    /// As iproute2 prints it: `32766: from all lookup main`.
    package var description: String {
        var parts = ["\(self.priority):"]
        if self.isInverted { parts.append("not") }
        parts += ["from", self.source.map(KernelRule.text) ?? "all"]
        if let destination = self.destination { parts += ["to", KernelRule.text(destination)] }
        if self.typeOfService != 0 { parts.append("tos 0x\(String(self.typeOfService, radix: 16))") }
        if let mark = self.mark { parts += ["fwmark", KernelRule.text(mark)] }
        if let name = self.inputName { parts += ["iif", name] }
        if let name = self.outputName { parts += ["oif", name] }
        if self.isL3Master { parts.append("lookup [l3mdev-table]") }
        if let range = self.uidRange { parts.append("uidrange \(range.lowerBound)-\(range.upperBound)") }
        if let number = self.ipProtocol { parts += ["ipproto", KernelRule.name(ofProtocol: number)] }
        if let ports = self.sourcePorts { parts += ["sport", KernelRule.text(ports)] }
        if let ports = self.destinationPorts { parts += ["dport", KernelRule.text(ports)] }
        parts += self.actionParts
        return parts.joined(separator: " ")
    }

    private var actionParts: [String] {
        let suppression = self.suppressPrefixLength.map { ["suppress_prefixlength \($0)"] } ?? []
        return switch self.action {
        case .lookup(let table):
            (self.isL3Master ? [] : ["lookup \(KernelRule.name(ofTable: table))"]) + suppression
        case .goTo(let priority): ["goto \(priority)"]
        case .unreachable: ["unreachable"]
        case .prohibit: ["prohibit"]
        case .blackhole: ["blackhole"]
        // FR_ACT_NOP.
        case .other(3): ["nop"]
        case .other(let number): ["action \(number)"]
        }
    }

    /// The names that every system has (rt_tables in ip-route(8)); other tables are named by their number.
    package static func name(ofTable table: UInt32) -> String {
        switch table {
        case 253: "default"
        case 254: "main"
        case 255: "local"
        default: "\(table)"
        }
    }

    private static func name(ofProtocol number: UInt8) -> String {
        switch number {
        case 1: "icmp"
        case 6: "tcp"
        case 17: "udp"
        case 58: "ipv6-icmp"
        default: "\(number)"
        }
    }

    private static func text(_ prefix: IPPrefix) -> String {
        prefix.length == prefix.address.family.bits ? "\(prefix.address)" : "\(prefix)"
    }

    private static func text(_ mark: Mark) -> String {
        let value = "0x\(String(mark.value, radix: 16))"
        return mark.mask == .max ? value : "\(value)/0x\(String(mark.mask, radix: 16))"
    }

    private static func text(_ ports: ClosedRange<UInt16>) -> String {
        ports.count == 1 ? "\(ports.lowerBound)" : "\(ports.lowerBound)-\(ports.upperBound)"
    }
}

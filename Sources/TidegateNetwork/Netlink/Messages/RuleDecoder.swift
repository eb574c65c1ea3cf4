internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Decodes RTM_NEWRULE of a dump.
enum RuleDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>, in family: AddressFamily) -> KernelRule? {
        guard Int(message.pointee.nlmsg_type) == RTM_NEWRULE,
            let header = MessageDecoder.body(message, as: fib_rule_hdr.self)
        else { return nil }
        return Attributes.of(message, fixedBytes: MemoryLayout<fib_rule_hdr>.size, highest: Int(FRA_DPORT_RANGE)) {
            self.rule(header, $0, family)
        }
    }

    private static func rule(_ header: fib_rule_hdr, _ attributes: Attributes, _ family: AddressFamily) -> KernelRule {
        let table = attributes.word(Int(FRA_TABLE)) ?? UInt32(header.table)
        var rule = KernelRule(
            priority: attributes.word(Int(FRA_PRIORITY)) ?? 0,
            action: self.action(header.action, table: table, target: attributes.word(Int(FRA_GOTO))))
        rule.source = self.prefix(attributes, FRA_SRC, header.src_len, family)
        rule.destination = self.prefix(attributes, FRA_DST, header.dst_len, family)
        rule.mark = self.mark(attributes)
        rule.uidRange = self.range(attributes, FRA_UID_RANGE)
        rule.ipProtocol = attributes.byte(Int(FRA_IP_PROTO))
        rule.sourcePorts = self.ports(attributes, FRA_SPORT_RANGE)
        rule.destinationPorts = self.ports(attributes, FRA_DPORT_RANGE)
        rule.inputName = attributes.text(Int(FRA_IIFNAME))
        rule.outputName = attributes.text(Int(FRA_OIFNAME))
        rule.typeOfService = header.tos
        rule.isInverted = header.flags & UInt32(FIB_RULE_INVERT) != 0
        // All ones if nothing is suppressed.
        rule.suppressPrefixLength = attributes.word(Int(FRA_SUPPRESS_PREFIXLEN)).flatMap { $0 == .max ? nil : $0 }
        rule.isL3Master = attributes.byte(Int(FRA_L3MDEV)).map { $0 != 0 } ?? false
        return rule
    }

    // FR_ACT_* of linux/fib_rules.h.
    private static func action(_ number: UInt8, table: UInt32, target: UInt32?) -> KernelRule.Action {
        switch number {
        case 1: .lookup(table)
        case 2: target.map { .goTo($0) } ?? .other(number)
        case 6: .blackhole
        case 7: .unreachable
        case 8: .prohibit
        default: .other(number)
        }
    }

    private static func prefix(
        _ attributes: Attributes, _ type: some BinaryInteger, _ length: UInt8, _ family: AddressFamily
    ) -> IPPrefix? {
        guard length > 0, let address = attributes.address(Int(type)) else { return nil }
        // A rule of IPv6 about IPv4-mapped addresses fits no packet of IPv6.
        return IPPrefix(address, length: Int(length) - family.bits + address.family.bits)
    }

    // Without a mask the kernel compares all bits, and with neither it compares nothing.
    private static func mark(_ attributes: Attributes) -> KernelRule.Mark? {
        let (value, mask) = (attributes.word(Int(FRA_FWMARK)), attributes.word(Int(FRA_FWMASK)))
        guard value != nil || mask != nil, mask != 0 else { return nil }
        return KernelRule.Mark(value: value ?? 0, mask: mask ?? .max)
    }

    private static func ports(_ attributes: Attributes, _ type: some BinaryInteger) -> ClosedRange<UInt16>? {
        self.range(attributes, type).flatMap { $0.upperBound > 0 ? $0 : nil }
    }

    // struct fib_rule_uid_range and struct fib_rule_port_range, in the machine's byte order.
    private static func range<Bound: FixedWidthInteger & BitwiseCopyable>(
        _ attributes: Attributes, _ type: some BinaryInteger
    ) -> ClosedRange<Bound>? {
        let size = MemoryLayout<Bound>.size
        guard let bytes = attributes.bytes(Int(type)), bytes.count >= 2 * size else { return nil }
        let first = bytes.loadUnaligned(as: Bound.self)
        let last = bytes.loadUnaligned(fromByteOffset: size, as: Bound.self)
        return first <= last ? first...last : nil
    }
}

internal import Glibc

/// An IPv4 or IPv6 address, with the scope zone that a link-local IPv6 address needs (RFC 4007).
///
/// Text follows RFC 5952 for IPv6 and dotted quads for IPv4; shortened IPv4 forms (`127.1`) are refused. An IPv4-mapped
/// IPv6 address (RFC 4291 2.5.5.2) is the IPv4 address: the kernel sends its packets over IPv4.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    /// The IP version.
    public let family: AddressFamily
    /// The interface index of a link-local IPv6 address; 0 if it has none.
    package let zone: UInt32
    // IPv4 sits in the lowest 32 bits of `low`.
    let high: UInt64
    let low: UInt64

    init(family: AddressFamily, high: UInt64, low: UInt64, zone: UInt32 = 0) {
        let isMapped = family == .ipv6 && high == 0 && low >> 32 == 0xFFFF
        self.family = isMapped ? .ipv4 : family
        self.high = high
        self.low = isMapped ? low & 0xFFFF_FFFF : low
        self.zone = isMapped ? 0 : zone
    }

    /// An IPv4 address from its 32 bits, most significant octet first.
    package init(ipv4 bits: UInt32) {
        self.init(family: .ipv4, high: 0, low: UInt64(bits))
    }

    /// An address from 4 or 16 octets in network order; nil for any other count.
    ///
    /// The octets of an IPv4-mapped address give the IPv4 address.
    package init?(octets: some Collection<UInt8>, zone: UInt32 = 0) {
        func word(_ part: some Sequence<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        switch octets.count {
        case 4: self.init(family: .ipv4, high: 0, low: word(octets))
        case 16: self.init(family: .ipv6, high: word(octets.prefix(8)), low: word(octets.dropFirst(8)), zone: zone)
        default: return nil
        }
    }

    /// The octets in network order: 4 or 16 of them.
    package var octets: [UInt8] {
        func split(_ word: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * (count - 1 - $0))) }
        }
        return switch self.family {
        case .ipv4: split(self.low, 4)
        case .ipv6: split(self.high, 8) + split(self.low, 8)
        }
    }

    /// The bits as numbers: all 32 of IPv4 in `low`.
    package var bits: (high: UInt64, low: UInt64) { (self.high, self.low) }

    /// An IPv6 address from its bits.
    package init(ipv6 high: UInt64, _ low: UInt64) {
        self.init(family: .ipv6, high: high, low: low)
    }

    /// The same address without its zone.
    package var withoutZone: IPAddress {
        IPAddress(family: self.family, high: self.high, low: self.low)
    }

    // MARK: What kind of address it is

    /// 127.0.0.0/8 or ::1 (RFC 1122, RFC 4291).
    package var isLoopback: Bool {
        self.family == .ipv4 ? self.low >> 24 == 127 : self.high == 0 && self.low == 1
    }

    /// True for an address at which a cloud hands secrets to its virtual machines, beside 169.254.169.254.
    package var isMetadata: Bool { Self.metadata.contains(self.withoutZone) }

    /// Alibaba's, AWS', Google's and Scaleway's addresses of their metadata services.
    package static let metadata = ["100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "fd00:42::42"]
        .compactMap { IPAddress($0) }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291), by prefix: the kernel's scope may differ.
    package var isLinkLocal: Bool {
        self.family == .ipv4 ? self.low >> 16 == 0xA9FE : self.high >> 54 == 0x3FA
    }

    /// fc00::/7 (RFC 4193).
    package var isUniqueLocal: Bool {
        self.family == .ipv6 && self.high >> 57 == 0x7E
    }

    /// 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        self.family == .ipv4 ? self.low >> 28 == 0xE : self.high >> 56 == 0xFF
    }

    /// True for an address that leads nowhere on the internet (RFC 1918, RFC 4193).
    package var isPrivate: Bool {
        guard self.family == .ipv4 else { return self.isUniqueLocal }
        return self.low >> 24 == 10 || self.low >> 20 == 0xAC1 || self.low >> 16 == 0xC0A8
    }

    /// True for 192.0.0.0/29, which a host has whose IPv4 packets are translated (RFC 7335).
    package var isTranslated: Bool { self.family == .ipv4 && self.low >> 3 == 0x1800_0000 }

    /// True for addresses that mean the same host everywhere, as far as prefixes say: none of the kinds above, nor
    /// private or shared IPv4 space (RFC 1918, RFC 6598).
    package var isGlobal: Bool {
        if self.isLoopback || self.isLinkLocal || self.isPrivate || self.isMulticast { return false }
        switch self.family {
        case .ipv4: return self.low >> 22 != 0x191 && self.low >> 24 != 0
        case .ipv6: return !self.isUnspecified
        }
    }

    /// The IPv4 address that an IPv6 address leads to; nil for others.
    ///
    /// IPv4-compatible (RFC 4291 2.5.5.1), 6to4 in 2002::/16 (RFC 3056), or NAT64 in 64:ff9b::/96 (RFC 6052).
    package var embeddedIPv4: IPAddress? {
        guard self.family == .ipv6 else { return nil }
        if self.high >> 48 == 0x2002 { return IPAddress(ipv4: UInt32(truncatingIfNeeded: self.high >> 16)) }
        let isTranslated = self.high == 0x64_FF9B_0000_0000
        guard self.low >> 32 == 0, isTranslated || self.high == 0 && self.low > 1 else { return nil }
        return IPAddress(ipv4: UInt32(truncatingIfNeeded: self.low))
    }

    /// 0.0.0.0 or ::.
    package var isUnspecified: Bool {
        self.high == 0 && self.low == 0
    }

    // MARK: Text

    /// The canonical text: a dotted quad, or RFC 5952 with `%index` if the address has a zone.
    public var description: String {
        switch self.family {
        case .ipv4: self.octets.map(String.init).joined(separator: ".")
        case .ipv6: self.zone == 0 ? self.ipv6Text : "\(self.ipv6Text)%\(self.zone)"
        }
    }

    private var ipv6Text: String {
        // An IPv4-compatible address, which inet_ntop(3) would end with a dotted quad.
        if self.high == 0, self.low >> 32 == 0, self.low >> 16 != 0 {
            return "::\(String(self.low >> 16, radix: 16)):\(String(self.low & 0xFFFF, radix: 16))"
        }
        var text = [UInt8](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = unsafe text.withUnsafeMutableBytes { buffer in
            unsafe inet_ntop(AF_INET6, self.octets, buffer.baseAddress, socklen_t(buffer.count)) != nil
        }
        return String(decoding: text.prefix { isWritten && $0 != 0 }, as: UTF8.self)
    }

    /// Parses a dotted quad or an IPv6 address; a zone is accepted as a number (`fe80::1%2`), and `::ffff:192.0.2.1` is
    /// 192.0.2.1.
    public init?(_ description: String) {
        // Over bytes: this is asked of every name, and characters take many times as long.
        let text = description.utf8
        guard !text.contains(0), let first = text.first, first <= Self.colon || text.contains(Self.colon) else {
            return nil
        }
        let percent = text.firstIndex(of: UInt8(ascii: "%"))
        let zone: UInt32? = if let percent { UInt32(description[text.index(after: percent)...]) } else { 0 }
        guard let zone else { return nil }
        if percent == nil, let octets = Self.octets(of: description, AF_INET, 4) {
            self.init(octets: octets)
        } else if let octets = Self.octets(of: String(description[..<(percent ?? text.endIndex)]), AF_INET6, 16) {
            self.init(octets: octets, zone: zone)
        } else {
            return nil
        }
    }

    private static let colon = UInt8(ascii: ":")

    // inet_pton(3), which takes neither short forms nor octets with leading zeros.
    private static func octets(of text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        return unsafe inet_pton(family, text, &octets) == 1 ? octets : nil
    }
}

/// An IP version, as JSON names it: `ipv4` or `ipv6`.
public enum AddressFamily: String, Sendable, MetricLabel {
    case ipv4
    case ipv6

    /// The family as people write it: `IPv4` or `IPv6`.
    package var name: String { self == .ipv4 ? "IPv4" : "IPv6" }

    /// The number of bits in an address of this family: 32 or 128.
    package var bits: Int { self == .ipv4 ? 32 : 128 }
}

/// An IPv4 or IPv6 address, with the scope zone that a link-local IPv6 address needs (RFC 4007).
///
/// Text follows RFC 5952 for IPv6 and dotted quads for IPv4; shortened IPv4 forms (`127.1`) are refused. An IPv4-mapped
/// IPv6 address (RFC 4291 2.5.5.2) is the IPv4 address: the kernel sends its packets over IPv4.
public struct IPAddress: Sendable, Hashable {
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
}

// MARK: - What kind of address it is

extension IPAddress {
    /// 127.0.0.0/8 or ::1 (RFC 1122, RFC 4291).
    package var isLoopback: Bool {
        switch self.family {
        case .ipv4: self.low >> 24 == 127
        case .ipv6: self.high == 0 && self.low == 1
        }
    }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291), by prefix: the kernel's scope may differ.
    package var isLinkLocal: Bool {
        switch self.family {
        case .ipv4: self.low >> 16 == 0xA9FE
        case .ipv6: self.high >> 54 == 0x3FA
        }
    }

    /// fc00::/7 (RFC 4193).
    package var isUniqueLocal: Bool {
        self.family == .ipv6 && self.high >> 57 == 0x7E
    }

    /// 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        switch self.family {
        case .ipv4: self.low >> 28 == 0xE
        case .ipv6: self.high >> 56 == 0xFF
        }
    }

    /// True for addresses that mean the same host everywhere, as far as prefixes say: none of the kinds above, nor
    /// private or shared IPv4 space (RFC 1918, RFC 6598).
    package var isGlobal: Bool {
        if self.isLoopback || self.isLinkLocal || self.isUniqueLocal || self.isMulticast { return false }
        switch self.family {
        case .ipv4:
            let isPrivate = self.low >> 24 == 10 || self.low >> 20 == 0xAC1 || self.low >> 16 == 0xC0A8
            return !isPrivate && self.low >> 22 != 0x191 && self.low >> 24 != 0
        case .ipv6: return !self.isUnspecified
        }
    }

    /// The IPv4 address that an IPv4-compatible IPv6 address means (RFC 4291 2.5.5.1); nil for others.
    package var embeddedIPv4: IPAddress? {
        guard self.family == .ipv6, self.high == 0, self.low >> 32 == 0, self.low > 1 else { return nil }
        return IPAddress(ipv4: UInt32(truncatingIfNeeded: self.low))
    }

    /// 0.0.0.0 or ::.
    package var isUnspecified: Bool {
        self.high == 0 && self.low == 0
    }
}

// MARK: - Text

extension IPAddress: CustomStringConvertible {
    /// The canonical text: a dotted quad, or RFC 5952 with `%index` if the address has a zone.
    public var description: String {
        switch self.family {
        case .ipv4: self.octets.map(String.init).joined(separator: ".")
        case .ipv6: self.zone == 0 ? self.ipv6Text : "\(self.ipv6Text)%\(self.zone)"
        }
    }

    private var groups: [UInt16] {
        [self.high, self.high, self.high, self.high, self.low, self.low, self.low, self.low].enumerated().map {
            UInt16(truncatingIfNeeded: $1 >> UInt64(48 - 16 * ($0 % 4)))
        }
    }

    private var ipv6Text: String {
        let groups = self.groups
        let gap = IPAddress.longestZeroRun(in: groups)
        func text(_ part: some Sequence<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard let gap else { return text(groups) }
        return "\(text(groups[..<gap.lowerBound]))::\(text(groups[gap.upperBound...]))"
    }

    // RFC 5952 4.2: the longest run of at least two zero groups, the first one of several equally long.
    private static func longestZeroRun(in groups: [UInt16]) -> Range<Int>? {
        var best: Range<Int>?
        var start = 0
        while start < groups.count {
            guard groups[start] == 0 else {
                start += 1
                continue
            }
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(1, best?.count ?? 0) { best = start..<end }
            start = end
        }
        return best
    }
}

extension IPAddress: LosslessStringConvertible {
    /// Parses a dotted quad or an IPv6 address; a zone is accepted as a number (`fe80::1%2`), and `::ffff:192.0.2.1` is
    /// 192.0.2.1.
    public init?(_ description: String) {
        // Over bytes: this is asked of every name, and characters take many times as long.
        let parts = description.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
        guard let text = parts.first, parts.count <= 2 else { return nil }
        let zone: UInt32? = parts.count == 2 ? UInt32(Substring(parts[1])) : 0
        guard let zone else { return nil }
        if let bits = IPAddress.ipv4Bits(text) {
            guard parts.count == 1 else { return nil }
            self.init(ipv4: bits)
        } else if let groups = IPAddress.ipv6Groups(text) {
            func word(_ part: ArraySlice<UInt16>) -> UInt64 { part.reduce(0) { $0 << 16 | UInt64($1) } }
            self.init(family: .ipv6, high: word(groups[..<4]), low: word(groups[4...]), zone: zone)
        } else {
            return nil
        }
    }

    private static func ipv4Bits(_ text: Substring.UTF8View) -> UInt32? {
        var (bits, octet): (UInt32, UInt32) = (0, 0)
        var (digits, points) = (0, 0)
        for byte in text {
            switch byte {
            case UInt8(ascii: "."):
                guard digits > 0 else { return nil }
                bits = bits << 8 | octet
                points += 1
                (octet, digits) = (0, 0)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // A leading zero may mean octal to other programs, so it means nothing here.
                guard digits == 0 || octet > 0 else { return nil }
                octet = octet * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard octet <= 255 else { return nil }
            default: return nil
            }
            guard points <= 3 else { return nil }
        }
        return points == 3 && digits > 0 ? bits << 8 | octet : nil
    }

    private static let colon = UInt8(ascii: ":")

    private static func ipv6Groups(_ text: Substring.UTF8View) -> [UInt16]? {
        guard text.contains(self.colon) else { return nil }
        guard let gap = self.gap(in: text) else {
            let groups = self.colonGroups(text)
            return groups?.count == 8 ? groups : nil
        }
        let left = text[..<gap.lowerBound]
        let right = text[gap.upperBound...]
        guard let head = left.isEmpty ? [] : self.colonGroups(left, ending: false),
            let tail = right.isEmpty ? [] : self.colonGroups(right), head.count + tail.count < 8
        else { return nil }
        return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    // The first two colons that follow each other.
    private static func gap(in text: Substring.UTF8View) -> Range<Substring.Index>? {
        for (first, second) in zip(text.indices, text.indices.dropFirst())
        where text[first] == self.colon && text[second] == self.colon {
            return first..<text.index(after: second)
        }
        return nil
    }

    private static func colonGroups(_ text: Substring.UTF8View, ending: Bool = true) -> [UInt16]? {
        var groups: [UInt16] = []
        let parts = text.split(separator: self.colon, omittingEmptySubsequences: false)
        for (position, part) in parts.enumerated() {
            if ending, position == parts.count - 1, let bits = self.ipv4Bits(part) {
                groups += [UInt16(bits >> 16), UInt16(truncatingIfNeeded: bits)]
                continue
            }
            guard (1...4).contains(part.count), part.allSatisfy(self.isHexDigit),
                let group = UInt16(Substring(part), radix: 16)
            else { return nil }
            groups.append(group)
        }
        return groups
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }
}

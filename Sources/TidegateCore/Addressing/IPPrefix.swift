/// An address with the length of its network part, as `ip address` prints it: `10.0.0.2/24`.
public struct IPPrefix: Sendable, Hashable, CustomStringConvertible {
    /// The address; its host bits are kept.
    public let address: IPAddress
    /// The number of network bits: 0 to 32, or 0 to 128.
    public let length: Int

    /// An address with a prefix length; nil if the length does not fit the family.
    package init?(_ address: IPAddress, length: Int) {
        guard (0...address.family.bits).contains(length) else { return nil }
        self.address = address
        self.length = length
    }

    /// The network of this length that an address is in; nil if the length does not fit the family.
    package init?(around address: IPAddress, length: Int) {
        guard (0...address.family.bits).contains(length) else { return nil }
        let mask = IPPrefix.mask(length, address.family)
        self.address = IPAddress(
            family: address.family, high: address.high & mask.high, low: address.low & mask.low)
        self.length = length
    }

    /// Parses a network, or an address that stands for itself; the error quotes the text.
    ///
    /// `::ffff:10.0.0.0/104` is 10.0.0.0/8.
    package init(parsing text: String) throws(TextError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let address = IPAddress(String(parts.first ?? ""))
        let isMapped = address?.family == .ipv4 && text.utf8.contains(UInt8(ascii: ":"))
        let length = parts.count > 1 ? Int(parts[1]).map { isMapped ? $0 - 96 : $0 } : address?.family.bits
        guard let address, let length, let network = IPPrefix(address, length: length) else {
            throw TextError("\"\(text)\" is neither an address nor a network (such as 10.0.0.0/8 or 2001:db8::/32)")
        }
        self = network
    }

    /// True for addresses whose first ``length`` bits are those of the prefix; false for those of the other family.
    package func contains(_ other: IPAddress) -> Bool {
        guard other.family == self.address.family else { return false }
        let (one, two, mask) = (self.address.bits, other.bits, IPPrefix.mask(self.length, other.family))
        return (one.high ^ two.high) & mask.high == 0 && (one.low ^ two.low) & mask.low == 0
    }

    private static func mask(_ length: Int, _ family: AddressFamily) -> (high: UInt64, low: UInt64) {
        // IPv4 addresses are in the low word, behind 96 bits that are alike.
        let bits = 128 - family.bits + length
        let high = bits >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(bits))
        return (high, bits <= 64 ? 0 : ~(bits == 128 ? 0 : UInt64.max >> UInt64(bits - 64)))
    }

    /// `ADDRESS/LENGTH`.
    public var description: String { "\(self.address)/\(self.length)" }
}

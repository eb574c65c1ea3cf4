/// An address with the length of its network part, as `ip address` prints it: `10.0.0.2/24`.
public struct IPPrefix: Sendable, Hashable, CustomStringConvertible {
    /// The address; its host bits are kept.
    public let address: IPAddress
    /// The number of network bits: 0 to 32, or 0 to 128.
    public let length: Int

    /// An address with a prefix length; nil where the length does not fit the family.
    public init?(_ address: IPAddress, length: Int) {
        guard (0...address.family.bits).contains(length) else { return nil }
        self.address = address
        self.length = length
    }

    /// `ADDRESS/LENGTH`.
    public var description: String { "\(self.address)/\(self.length)" }
}

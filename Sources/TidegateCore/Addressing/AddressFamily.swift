/// An IP version, in the words of the JSON contract: `ipv4` or `ipv6`.
public enum AddressFamily: String, Sendable, CaseIterable, Hashable {
    case ipv4
    case ipv6

    /// The number of bits in an address of this family: 32 or 128.
    public var bits: Int {
        switch self {
        case .ipv4: 32
        case .ipv6: 128
        }
    }
}

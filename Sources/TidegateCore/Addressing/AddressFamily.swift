/// An IP version, as JSON names it: `ipv4` or `ipv6`.
public enum AddressFamily: String, Sendable, MetricLabel {
    case ipv4
    case ipv6

    /// The family as people write it: `IPv4` or `IPv6`.
    package var name: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }

    /// The number of bits in an address of this family: 32 or 128.
    package var bits: Int {
        switch self {
        case .ipv4: 32
        case .ipv6: 128
        }
    }
}

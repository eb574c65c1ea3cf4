package import TidegateCore

/// The next hop of packets.
package struct NextHop: Sendable, Hashable {
    /// The gateway; nil for what is on this host's own link.
    package var gateway: IPAddress?
    /// The interface; nil if it is not known.
    package var interface: String?
}

internal import TidegateNetwork

/// What is known about a gateway.
struct GatewayFindings: Sendable {
    /// The kernel's neighbour entry, read after the UDP probe.
    var neighbour: KernelNeighbour?
    /// The result of the UDP probe; nil if none was sent.
    var udpProbe: UDPProbe.Result?
    /// It was FAILED, and has not been REACHABLE since.
    var isStuck = false
    /// It has been REACHABLE before.
    var wasReachable = false
    /// False for links without neighbours: tunnels, point-to-point links.
    var resolvesNeighbours = true
}

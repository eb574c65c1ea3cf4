/// A party other than the silent one that was asked, or whose traffic was seen, at about the same time.
package struct Witness: Sendable, Hashable {
    /// The source of the evidence.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Packets with growing hop limits towards the silent party or a sentinel.
        case hopWalk
        /// A name resolver.
        case resolver
        /// An internet check.
        case internetCheck
        /// Attempts to other hosts in the last 30 s.
        case attempt
        /// The target over another address, or another configured target.
        case target
        /// A connection of another program of this machine.
        case connection
    }

    /// How far packets came; in order.
    package enum Reach: Sendable, Hashable {
        /// Nothing answered.
        case nothing
        /// The gateway did, and nothing beyond it.
        case gateway
        /// A router beyond the gateway did, and nothing beyond it: that proves only the way to this router.
        case router(IPAddress)
        /// A host, a resolver or a server beyond the gateway did, which proves the way to it.
        case beyond(IPAddress?)
        /// The silent party's host itself did, at another port or by another protocol.
        case destination
    }

    /// The source of the evidence.
    package var kind: Kind
    /// How far packets came.
    package var reach: Reach
    /// The ICMP error that came instead of an answer; nil if none did.
    package var refusal: ICMPError?
    /// True if it came as far as the first router beyond the gateway, where every way out passes.
    package var isEdge = false

    /// A witness from its parts.
    package init(_ kind: Kind, _ reach: Reach, refusal: ICMPError? = nil) {
        (self.kind, self.reach, self.refusal) = (kind, reach, refusal)
    }

    /// True if something beyond the gateway answered.
    package var isBeyondGateway: Bool {
        switch self.reach {
        case .nothing, .gateway: false
        case .router, .beyond, .destination: true
        }
    }

    /// True if an end beyond the gateway answered, and not only a router on the way.
    package var isEnd: Bool {
        switch self.reach {
        case .nothing, .gateway, .router: false
        case .beyond, .destination: true
        }
    }
}

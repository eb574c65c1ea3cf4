/// Somebody other than the silent party who was asked, or whose traffic was seen, at about the same time.
package struct Witness: Sendable, Hashable {
    /// How it is known.
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
        /// Something beyond the gateway did: the last router that answers, if it was a router.
        case beyond(IPAddress?)
        /// The silent party's host itself did, at another port or by another protocol.
        case destination
    }

    /// How it is known.
    package var kind: Kind
    /// How far packets came.
    package var reach: Reach
    /// The ICMP error that came instead of an answer; nil if none did.
    package var refusal: ICMPError?

    /// A witness from its parts.
    package init(_ kind: Kind, _ reach: Reach, refusal: ICMPError? = nil) {
        self.kind = kind
        self.reach = reach
        self.refusal = refusal
    }

    /// True if something beyond the gateway answered.
    package var isBeyondGateway: Bool {
        switch self.reach {
        case .nothing, .gateway: false
        case .beyond, .destination: true
        }
    }
}

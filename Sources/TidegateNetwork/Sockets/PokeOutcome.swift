package import TidegateCore

/// What a poke came to.
package enum PokeOutcome: Sendable, Hashable {
    /// It is alive: it sent something back, be it only that nobody listens.
    case answered
    /// This host found no link-layer address for it (ARP, neighbour discovery).
    case unresolved(ICMPError?)
    /// Somebody else refused in its place: a router before it, or a filter of this host's.
    case refused(ICMPError)
    /// Nothing came back in time.
    case silent
    /// The poke could not be sent (errno(3)): no route, or a filter of this host's drops it (EPERM).
    case failed(Int32)
}

extension PokeOutcome {
    /// What a message of the socket's error queue says about `address`; `local` is the address poked from.
    init(_ message: ExtendedSocketError, from address: IPAddress, local: IPAddress?) {
        let refusal = message.refusal
        if let offender = refusal.offender, offender.withoutZone == address.withoutZone {
            // Any word of its own shows that it is alive.
            self = .answered
        } else if refusal.isHostUnreachable, refusal.offender == nil || refusal.isFrom(local) {
            self = .unresolved(refusal)
        } else if message.origin == .local {
            self = .failed(message.errorNumber)
        } else {
            self = .refused(refusal)
        }
    }
}

/// Evidence about a party that did not answer.
package struct SilenceEvidence: Sendable, Hashable {
    /// Who did not answer.
    package enum Silent: Sendable, Hashable {
        case resolvers([IPAddress])
        case target
    }

    /// The state of the path's gateway.
    package enum Gateway: Sendable, Hashable {
        /// The path has none: the silent party is on this host's own link.
        case none
        /// Nothing is known about it.
        case unknown
        /// It has answered since the silence began.
        case answers(IPAddress)
        /// Its link-layer address is not found; `wasReachable` if it has been before.
        case unresolved(IPAddress, link: String, wasReachable: Bool)
        /// The kernel still considers it reachable, and it was last confirmed before the silence began.
        case unconfirmed(IPAddress, link: String, age: Duration?)
        /// It was found on its link since the silence began, and answers nothing itself.
        case confirmed(IPAddress)

        /// Its address; nil if it has none.
        package var address: IPAddress? {
            switch self {
            case .none, .unknown: nil
            case .answers(let address), .confirmed(let address), .unresolved(let address, _, _),
                .unconfirmed(let address, _, _):
                address
            }
        }
    }

    /// Who did not answer.
    package var silent: Silent
    /// The gateway's state.
    package var gateway: Gateway
    /// Who else was asked.
    package var witnesses: [Witness]
    /// The largest known packet that passes where larger ones are lost, in bytes; nil if none are known to be lost.
    package var fittingPacket: Int?
    /// The cause that this host's own tables, or the counters of a tunnel, show; nil if they show none.
    package var shown: Cause?
    /// The link that the path begins with; nil if that is not known.
    package var link: String?
    /// The captive portal that answers in place of servers beyond the gateway; nil if none was found.
    package var portal: InternetFailure?
    /// When it was found out; nil if that is not known.
    package var moment: MonotonicTime?

    /// Evidence from its parts.
    package init(
        silent: Silent, gateway: Gateway = .unknown, witnesses: [Witness] = [], fittingPacket: Int? = nil
    ) {
        (self.silent, self.gateway, self.witnesses) = (silent, gateway, witnesses)
        self.fittingPacket = fittingPacket
    }
}

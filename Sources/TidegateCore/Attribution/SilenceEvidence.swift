/// What is known when something did not answer.
package struct SilenceEvidence: Sendable, Hashable {
    /// Who did not answer.
    package enum Silent: Sendable, Hashable {
        case resolvers([IPAddress])
        case target
    }

    /// How the gateway of the path stands.
    package enum Gateway: Sendable, Hashable {
        /// The path has none: the silent party is on this host's own link.
        case none
        /// Nothing is known about it.
        case unknown
        /// It has answered since the silence began.
        case answers(IPAddress)
        /// Its link-layer address is not found; `wasReachable` if it has been before.
        case unresolved(IPAddress, link: String, wasReachable: Bool)
        /// The kernel still takes it for reachable, and it was last confirmed before the silence began.
        case unconfirmed(IPAddress, link: String, age: Duration?)
        /// It was found on its link since the silence began, and answers nothing itself.
        case confirmed(IPAddress)

        /// Its address; nil if there is none.
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
    /// How the gateway stands.
    package var gateway: Gateway
    /// Who else was asked.
    package var witnesses: [Witness]
    /// True if small packets pass and large ones do not.
    package var losesLargePackets: Bool
    /// When it was found out; nil if that is not known.
    package var moment: MonotonicTime?

    /// Evidence from its parts.
    package init(
        silent: Silent, gateway: Gateway = .unknown, witnesses: [Witness] = [], losesLargePackets: Bool = false
    ) {
        self.silent = silent
        self.gateway = gateway
        self.witnesses = witnesses
        self.losesLargePackets = losesLargePackets
    }
}

/// Decides what silence means, by the witnesses: silence by itself convicts nobody.
package enum SilenceClassifier {
    /// The cause of the silence.
    ///
    /// Order matters: a working path beyond the gateway acquits router and provider, whatever the gateway says of
    /// itself.
    package static func cause(of evidence: SilenceEvidence) -> Cause {
        evidence.witnesses.contains(where: \.isBeyondGateway)
            ? self.beyondTheGateway(evidence) : self.nearThisHost(evidence)
    }

    // Nothing beyond the gateway answers, or nobody was asked.
    private static func nearThisHost(_ evidence: SilenceEvidence) -> Cause {
        let isAsked = !evidence.witnesses.isEmpty
        let hasGatewayAnswered = evidence.witnesses.contains { $0.reach == .gateway }
        switch evidence.gateway {
        case .unresolved(let address, let link, let wasReachable):
            return .router(
                wasReachable
                    ? .silent(address, link: link, lastConfirmed: nil) : .absent(address, link: link))
        case .answers(let address):
            return isAsked ? .provider(.nothingBeyond(gateway: address)) : .unknown(.silence)
        case .unconfirmed(let address, _, _) where hasGatewayAnswered, .confirmed(let address) where hasGatewayAnswered:
            return .provider(.nothingBeyond(gateway: address))
        case .unconfirmed(let address, let link, let age):
            return isAsked ? .router(.silent(address, link: link, lastConfirmed: age)) : .unknown(.silence)
        case .confirmed(let address):
            return isAsked ? .unknown(.routerOrProvider(gateway: address)) : .unknown(.silence)
        case .none:
            if case .resolvers(let servers) = evidence.silent { return .resolver(.silent(servers)) }
            return .server(.portSilent)
        case .unknown:
            // Without a gateway to ask, silence of everybody is what lies behind the link.
            return isAsked ? .provider(.nothingBeyond(gateway: nil)) : .unknown(.silence)
        }
    }

    private static func beyondTheGateway(_ evidence: SilenceEvidence) -> Cause {
        switch evidence.silent {
        case .resolvers(let servers): return .resolver(.silent(servers))
        case .target: break
        }
        if evidence.losesLargePackets { return .onTheWay(.largePackets) }
        if evidence.witnesses.contains(where: { $0.reach == .destination }) { return .server(.portSilent) }
        let others = evidence.witnesses.contains { $0.kind != .hopWalk && $0.isBeyondGateway }
        let last = evidence.witnesses.lazy.compactMap { witness -> IPAddress? in
            guard case .beyond(let router) = witness.reach, witness.kind == .hopWalk else { return nil }
            return router
        }.first
        guard others || last != nil else { return .unknown(.silence) }
        return .onTheWay(.ends(after: last))
    }
}

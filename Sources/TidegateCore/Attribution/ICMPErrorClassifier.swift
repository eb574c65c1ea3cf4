/// Decides what an ICMP error means: by its sender, and by what it says.
package enum ICMPErrorClassifier {
    /// Who sent it.
    package enum Sender: Sendable, Hashable {
        case thisHost, destination, gateway, router
    }

    /// What else the meaning depends on.
    package struct Context: Sendable, Hashable {
        /// Who sent the error.
        package var sender: Sender
        /// What could not be reached.
        package var destination: IPAddress?
        /// The interface that packets leave by.
        package var link: String
        /// The gateway of the path; nil if the destination is on the link.
        package var gateway: IPAddress?
        /// Who else was asked.
        package var witnesses: [Witness]

        /// A context from its parts.
        package init(
            sender: Sender, destination: IPAddress?, link: String = "the link", gateway: IPAddress? = nil,
            witnesses: [Witness] = []
        ) {
            self.sender = sender
            self.destination = destination
            self.link = link
            self.gateway = gateway
            self.witnesses = witnesses
        }
    }

    /// The cause behind an error.
    package static func cause(of error: ICMPError, _ context: Context) -> Cause {
        switch context.sender {
        case .thisHost: self.own(error, context)
        case .destination: .server(.prohibits(error))
        case .gateway: self.gateway(error, context)
        case .router: self.router(error, context)
        }
    }

    // No neighbour answered, or a filter of this host refused.
    private static func own(_ error: ICMPError, _ context: Context) -> Cause {
        guard error.kind == .hostUnreachable else { return .thisHost(.filter(error)) }
        if let gateway = context.gateway { return .router(.absent(gateway, link: context.link)) }
        guard let destination = context.destination else { return .server(.gone(nil)) }
        return .server(.absent(destination, link: context.link))
    }

    private static func gateway(_ error: ICMPError, _ context: Context) -> Cause {
        let isBeyondProven = context.witnesses.contains(where: \.isBeyondGateway)
        switch error.kind {
        case .noRoute: return .provider(.noRoute(error))
        case .hostUnreachable:
            // It looks for the target on a link of its own, unless everything beyond it gets the same answer.
            let isShared = context.witnesses.contains {
                !$0.isBeyondGateway && ($0.refusal == nil || $0.refusal?.kind == .hostUnreachable)
            }
            return isShared && !isBeyondProven ? .provider(.noRoute(error)) : .server(.gone(error))
        case .prohibited, .portUnreachable, .other: return .router(.prohibits(error))
        case .timeExceeded: return .onTheWay(.loop(at: error.offender))
        }
    }

    private static func router(_ error: ICMPError, _ context: Context) -> Cause {
        switch error.kind {
        case .noRoute: .onTheWay(.noRoute(error))
        // The last router did not find the host on its link.
        case .hostUnreachable: .server(.gone(error))
        case .prohibited, .portUnreachable, .other: .onTheWay(.prohibits(error))
        case .timeExceeded: .onTheWay(.loop(at: error.offender))
        }
    }
}

package import TidegateCore

extension Cause {
    /// Proven if the responsible party, or a router beyond it, answered, or this host's own kernel said so.
    ///
    /// Silence has two ends: behind a router that answers, its other side may be dead as well.
    package var certainty: Incident.Certainty {
        switch self {
        case .thisHost(.staticNeighbour), .thisHost(.privateAddress), .thisHost(.tunnelInItself),
            .thisHost(.silentTranslator), .thisHost(.foreignSource), .thisHost(.reversePathFilter),
            .thisHost(.dropsAnswers):
            .probable
        case .thisHost: .proven
        case .router(.absent), .router(.prohibits): .proven
        case .router(.silent): .probable
        case .provider(.ends), .provider(.noRoute): .proven
        case .provider(.nothingBeyond), .provider(.checksFail), .provider(.portal), .provider(.silentLine): .probable
        case .resolver(.silent): .probable
        // The server that it asks may be the one that fails.
        case .resolver(let cause) where cause.isOfThisHost: if case .refused = cause { .proven } else { .probable }
        case .resolver(.refused), .resolver(.silentAbout), .resolver(.fails), .resolver(.denies), .resolver(.blocks):
            .proven
        case .onTheWay(.loop), .onTheWay(.prohibits), .onTheWay(.noRoute): .proven
        case .onTheWay(.ends), .onTheWay(.largePackets), .onTheWay(.silentTunnel), .onTheWay(.tunnelEnds),
            .onTheWay(.tcpEnds):
            .probable
        case .server(.gone(nil)), .server(.portSilent), .server(.handshakeSilent), .server(.responseSilent): .probable
        case .server: .proven
        case .slow, .unknown: .probable
        }
    }
}

extension UnreachableReason {
    /// The certainty of a check's failure, by its reason alone.
    package var certainty: Incident.Certainty {
        switch self {
        case .timeout, .hostUnreachable, .gatewaySilent, .resolverTimeout, .limited, .portal: .probable
        default: .proven
        }
    }
}

/// What is wrong, as exactly as the evidence says it: the case is whose failure it is.
///
/// Party, sentence and advice follow from the cause and never from the rung that showed it.
package enum Cause: Sendable, Hashable, CustomStringConvertible {
    case thisHost(HostCause)
    case router(RouterCause)
    case provider(ProviderCause)
    case resolver(ResolverCause)
    case onTheWay(PathCause)
    case server(ServerCause)
    /// Nothing tells whose failure it is.
    case unknown(UnknownCause)

    /// Whose failure it is.
    package var party: FaultParty {
        switch self {
        case .thisHost: .mine
        case .router: .gateway
        case .provider: .upstream
        case .resolver: .resolver
        case .onTheWay: .path
        case .server: .theirs
        case .unknown: .unknown
        }
    }

    /// The cause for programs, as JSON has it: `certificateExpired`.
    package var code: String { self.kind.code }

    private var kind: any CauseKind {
        switch self {
        case .thisHost(let cause): cause
        case .router(let cause): cause
        case .provider(let cause): cause
        case .resolver(let cause): cause
        case .onTheWay(let cause): cause
        case .server(let cause): cause
        case .unknown(let cause): cause
        }
    }

    /// What is wrong, as a clause without a full stop: `the certificate expired on 1 March 2026`.
    package var description: String { self.kind.description }
}

/// The causes of one party.
protocol CauseKind: CustomStringConvertible {
    /// The cause for programs.
    var code: String { get }
}

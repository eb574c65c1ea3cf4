internal import TidegateCore
internal import TidegateNetwork

extension ReachabilityEngine {
    /// What the engine is given once.
    struct Dependencies: Sendable {
        var configuration: ReachabilityConfiguration
        var bus: EventBus
        var resolver: any NameResolver
        var time: any TimeSource
        /// The addresses of the host's resolvers.
        var systemResolvers: @Sendable () -> [IPAddress]
        var evidence: PassiveEvidence
        /// Requests the URLs of internet checks; nil if there are none.
        var web: (any HTTPChecker)?

        /// Checks the configured targets; nil if none is checked.
        var targetChecker: (any TargetChecker)?

        /// True if internet checks are made without a request for them.
        var checksInternet: Bool { self.configuration.internetCheck.isEnabled && self.web != nil }
    }

    /// What other threads send to the engine.
    enum Command: Sendable {
        case watch(Target, id: UInt64, handler: TargetTable.Handler)
        case unwatch(UInt64)
        case resolved(String, Result<[IPAddress], ResolveFailure>)
        case timeToLive(String, Duration)
        case resolversChanged
        case waitForStatus(within: Duration, DelayedCalls.Call)
        case evaluate(CheckedContinuation<Duration, Never>)
        case lookUp(IPAddress, CheckedContinuation<AddressRoute, Never>)
        case report(RouteQuery, CheckedContinuation<RouteReport, Never>)
        case call(after: Duration, DelayedCalls.Call)
        case internetCheckFinished(AddressFamily, round: Int, Connectivity)
        case targetChecked(Int, round: Int, TargetCheck.Outcome)
        case requestFailed
    }
}

extension InternetCheck {
    /// The checks that are made without a request for them; nil if there are none.
    convenience init?(_ dependencies: ReachabilityEngine.Dependencies) {
        guard dependencies.checksInternet, let web = dependencies.web else { return nil }
        self.init(
            dependencies.configuration.internetCheck, web: web, resolver: dependencies.resolver,
            evidence: dependencies.evidence, time: dependencies.time)
    }
}

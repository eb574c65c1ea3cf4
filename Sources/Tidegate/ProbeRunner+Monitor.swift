package import TidegateCore
package import TidegateProbes
package import TidegateReachability
internal import TidegateTransfer

extension ProbeRunner {
    /// A runner of probes that uses a monitor's paths; its thread starts with the first probe.
    package convenience init(_ configuration: Configuration, monitor: Monitor) {
        let (paths, diagnostics) = (monitor.reachability, monitor.diagnostics)
        // A probe ends earlier than its scrape by this offset, which leaves time for a diagnosis.
        let limit = configuration.timeoutOffset * 0.8
        self.init(
            configuration, paths: paths, resolver: monitor.resolver, diagnosis: { paths.evidence($0) },
            cause: { doubt in
                guard doubt.isScheduled else { return await diagnostics.cause(of: doubt.subject, within: limit) }
                // A single diagnosis of this host serves all runs that fail because of it.
                var path: NetworkPath?
                if let address = doubt.address { path = await paths.route(to: address).verdict.path }
                if let outage = await paths.outage(at: doubt.address, over: path) { return outage }
                // The time limit for finding the cause after a scheduled run.
                return await diagnostics.cause(of: doubt.subject, within: .seconds(3))
            }, time: monitor.time, own: monitor.own)
    }

    /// A runner of probes that uses the paths of `paths`.
    ///
    /// `cause` finds out why a probe failed if its own observations do not show it.
    package convenience init(
        _ configuration: Configuration, paths: ReachabilityMonitor, resolver: any NameResolver,
        diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil },
        cause: @escaping @Sendable (ProbeDoubt) async -> Cause?, time: any TimeSource, own: OwnSockets? = nil
    ) {
        let network = ProbeEnvironment.Network(
            route: { await paths.route(to: $0) }, isRouted: { await paths.hasRoute(to: $0, over: $1) },
            internet: { AddressFamily.allCases.map(paths.family).max { $0.level < $1.level } ?? .unknown },
            diagnosis: diagnosis,
            cause: cause)
        self.init(
            configuration,
            environment: ProbeEnvironment(
                resolver: resolver, network: network, attempts: AttemptClient(name: "tg-probe", own: own), time: time,
                call: { if !paths.call(after: $0, $1) { $1() } }, version: TidegateVersion.version, own: own))
    }
}

extension PathDiagnostics {
    /// Why a target cannot be reached, if it can be found out in time.
    package func cause(of subject: ProbeSubject, within limit: Duration) async -> Cause? {
        let target =
            switch subject {
            case .target(let target): ExplainTarget(target)
            case .internet: ExplainTarget.internet
            }
        // A monitor only sends hop walks to a public address if its configuration allows it.
        let cause = await self.cause(of: target, within: limit, walksToInternet: false)
        return cause?.party == .unknown ? nil : cause
    }
}

package import TidegateCore
package import TidegateProbes
package import TidegateReachability
internal import TidegateTransfer

extension ProbeRunner {
    /// A runner of probes that know a monitor's paths; its thread starts with the first probe.
    package convenience init(_ configuration: Configuration, monitor: Monitor) {
        let host = monitor.host
        self.init(
            configuration, paths: monitor.reachability, resolver: monitor.resolver, diagnostics: monitor.diagnostics,
            // Prometheus waits so much longer than a probe may take.
            explainingWithin: configuration.timeoutOffset * 0.8, diagnosis: { host.evidence($0) }, time: monitor.time)
    }

    /// A runner of probes that know the paths of `paths`, for probes without a monitor.
    ///
    /// `diagnostics` finds out in `limit` why a probe failed, if nothing that it saw says so.
    package convenience init(
        _ configuration: Configuration, paths: ReachabilityMonitor, resolver: any NameResolver,
        diagnostics: PathDiagnostics, explainingWithin limit: Duration,
        diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil }, time: any TimeSource
    ) {
        let network = ProbeEnvironment.Network(
            route: { await paths.route(to: $0) },
            internet: { AddressFamily.allCases.map(paths.family).max { $0.level < $1.level } ?? .unknown },
            diagnosis: diagnosis,
            cause: { subject in
                let target =
                    switch subject {
                    case .target(let target): ExplainTarget(target)
                    case .url(let url): ExplainTarget(url)
                    }
                let explanation = await diagnostics.diagnose(target, within: limit)
                guard explanation.conclusion == .broken, let cause = explanation.cause, cause.party != .unknown else {
                    return nil
                }
                return cause
            })
        self.init(
            configuration,
            environment: ProbeEnvironment(
                resolver: resolver, network: network, attempts: AttemptClient(name: "tg-probe"), time: time,
                call: { if !paths.call(after: $0, $1) { $1() } }, version: TidegateVersion.version))
    }
}

internal import TidegateConnections
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability

extension ConnectionObserver {
    /// An observer that knows a monitor's paths and targets, and publishes on its bus.
    convenience init(
        _ configuration: MonitorConfiguration, bus: EventBus, reachability: ReachabilityMonitor, own: OwnSockets,
        time: any TimeSource, kernel: NetlinkOptions
    ) throws {
        let names = configuration.namesOfTargets
        try self.init(
            configuration.connections, own: own, options: kernel,
            Environment(
                time: time, publish: { bus.publish(.connection($0)) },
                route: { await reachability.route(to: $0) },
                targets: {
                    reachability.status.targets.map { verdict in
                        ObservedTarget(
                            name: names[verdict.target] ?? verdict.target.description,
                            addresses: verdict.addresses.map(\.address), port: verdict.target.port)
                    }
                }))
        bus.attach(PathSink(observer: self))
    }
}

/// Tells an observer which path of the host changed; the bus does not keep it alive.
private final class PathSink: EventSink {
    private weak let observer: ConnectionObserver?

    init(observer: ConnectionObserver) { self.observer = observer }

    func receive(_ event: Event) {
        guard case .path(let path) = event.payload, case .family(let family) = path.scope else { return }
        self.observer?.pathChanged(family, isFirst: path.from.level == .unknown)
    }
}

internal import TidegateConnections
public import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability

/// The TCP connections of other programs on this host, as reported by the kernel.
///
/// ```swift
/// var configuration = MonitorConfiguration()
/// configuration.connections.isEnabled = true
/// let monitor = try Monitor(configuration)
/// for await stall in monitor.connections.stalled() { print(stall.remote, stall.party) }
/// ```
public struct ObservedConnections: Sendable {
    let observer: ConnectionObserver?
    let bus: EventBus

    /// The current report; its mode is `off` if the configuration does not ask for observation.
    public func report() async -> ConnectionsReport { await self.observer?.report() ?? ConnectionsReport() }

    /// The current remotes: those with hanging connections first, then those with the most connections.
    public func remotes() async -> [RemoteReport] { await self.report().remotes }

    /// The remotes whose connections begin to hang from now on; ends when its Swift task is cancelled.
    ///
    /// The newest 256 are kept for a slow reader.
    public func stalled() -> some AsyncSequence<ConnectionEvent.Stall, Never> & Sendable {
        let events = self.bus.subscribe(.library, bufferingNewest: 256) { event in
            if case .connection(.stalled) = event.payload { true } else { false }
        }
        return events.compactMap { if case .connection(.stalled(let stall)) = $0.payload { stall } else { nil } }
    }
}

/// The processes that currently have connections to remotes, if this process may see them.
package struct ConnectionPrograms: Sendable {
    private var found: [Remote: [SocketProgram]] = [:]

    /// Lists the live connections of this network namespace, and the descriptors of its processes.
    ///
    /// - Throws: The refusal by the kernel or a sandbox, as one clause.
    package init() throws(TextError) {
        let byInode = SocketPrograms.byInode()
        do throws(NetlinkError) {
            let channel = try SocketDumpChannel(NetlinkOptions())
            for family in AddressFamily.allCases {
                try channel.dump(SocketDump(family, [.connecting, .live])) { self.add($0, byInode) }
            }
        } catch {
            throw TextError("\(error)")
        }
    }

    // The list does not say which side opened a connection, so it is recorded for both possible remotes.
    private mutating func add(_ report: SocketReport, _ byInode: [UInt32: [SocketProgram]]) {
        guard let programs = byInode[report.inode] else { return }
        let address = report.remote.address.withoutZone
        for remote in [
            Remote(address, port: report.remote.port, .outgoing), Remote(address, port: report.local.port, .incoming),
        ] {
            let known = self.found[remote] ?? []
            self.found[remote] = known + programs.filter { !known.contains($0) }
        }
    }

    /// The programs with connections to a remote, by process id; empty if there are none, or if none are visible.
    package func programs(of remote: Remote) -> [SocketProgram] {
        let found = self.found[Remote(remote.address.withoutZone, port: remote.port, remote.direction)] ?? []
        return found.sorted { $0.pid < $1.pid }
    }
}

extension ConnectionObserver {
    /// An observer that uses a monitor's paths and targets, and publishes on its bus.
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

/// Reports changed paths of the host to an observer; does not keep the observer alive.
private final class PathSink: EventSink {
    private weak let observer: ConnectionObserver?

    init(observer: ConnectionObserver) { self.observer = observer }

    func receive(_ event: Event) {
        guard case .path(let path) = event.payload, case .family(let family) = path.scope, path.isOfKernel
        else { return }
        self.observer?.pathChanged(family, isFirst: path.from.level == .unknown)
    }
}

package import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// The thread `tg-netlink`, which watches the kernel for a ``ReachabilityMonitor`` until it is stopped or released.
///
/// The thread needs no privileges.
package final class NetlinkThread: Sendable {
    private let thread: LoopThread<ReachabilityEngine>?
    private let resolverWatch: ResolverWatch?

    /// Starts watching the kernel with the sockets that `kernel` describes, which may be in another namespace.
    ///
    /// Without `web` there are no internet checks, without `targetChecker` no checks of targets, and without
    /// `diagnoser` no diagnoses. With `diagnosesHost` they are made whenever evidence asks for it, and with `quality`
    /// slowness is found as well.
    package init(
        _ monitor: ReachabilityMonitor, resolver: any NameResolver, kernel options: NetlinkOptions = NetlinkOptions(),
        resolverFiles: ResolverFiles = ResolverFiles(), resolverAddresses: (@Sendable () -> [IPAddress])? = nil,
        web: (any HTTPChecker)? = nil, targetChecker: (any TargetChecker)? = nil, diagnoser: (any HostDiagnoser)? = nil,
        diagnosesHost: Bool = false, quality: QualityRecord? = nil
    ) {
        let dependencies = ReachabilityEngine.Dependencies(
            configuration: monitor.configuration, bus: monitor.bus, resolver: resolver, time: monitor.time,
            systemResolvers: resolverAddresses ?? { resolverFiles.read().finalServers },
            evidence: monitor.evidence, web: web, targetChecker: targetChecker, diagnoser: diagnoser,
            diagnosesHost: diagnosesHost, quality: quality, send: { _ = monitor.send($0) })
        do throws(LoopError) {
            self.thread = try LoopThread(name: "tg-netlink", inbox: monitor.inbox.get()) {
                [store = monitor.store] loop in
                ReachabilityEngine(kernel: NetlinkClient(loop: loop, options: options), dependencies, store: store)
            }
        } catch {
            self.thread = nil
            (try? monitor.inbox.get())?.close()
            monitor.store.write { content in
                content.unavailableReason = "starting the netlink thread: \(error)"
                content.targetOrder = monitor.configuration.targets
                content.isReady = true
            }
        }
        let watchesFiles = !options.isOnce && resolverAddresses == nil
        // Without a watch, every periodic evaluation still reads the files.
        self.resolverWatch =
            watchesFiles
            ? try? ResolverWatch(resolverFiles) { _ in _ = monitor.send { $0.resolversChanged() } }
            : nil
    }

    /// Whether the thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.thread?.load }

    /// Stops watching; the last verdicts stay.
    package func stop() {
        self.resolverWatch?.stop()
        self.thread?.stop()
    }

    /// Evaluates once without watching: one dump and the lookups, and names of targets within `limit`.
    package static func evaluateOnce(
        _ configuration: ReachabilityConfiguration, resolver: any NameResolver, time: any TimeSource,
        within limit: Duration, kernel options: NetlinkOptions = NetlinkOptions()
    ) async -> ReachabilityStatus {
        var options = options
        options.isOnce = true
        let monitor = ReachabilityMonitor(configuration, bus: EventBus(time: time), time: time, mode: .once)
        let thread = NetlinkThread(monitor, resolver: resolver, kernel: options)
        defer { thread.stop() }
        return await monitor.firstStatus(within: limit)
    }
}

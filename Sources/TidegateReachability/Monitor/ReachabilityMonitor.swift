internal import Synchronization
public import TidegateCore
package import TidegateNetwork

/// Watches links, addresses, routes and rules of this network namespace, and says where packets would go.
///
/// It runs one thread, `tg-netlink`, until it is stopped or released. It needs no privilege. Where the kernel cannot be
/// read, every level is `unknown`, all gates are open, and ``blindness`` says why.
public final class ReachabilityMonitor: PathSource, Sendable {
    private let board: ReachabilityStore
    private let thread: NetlinkThread<ReachabilityEngine>?
    private let lastWatch = Atomic<UInt64>(0)
    private let evidence = PassiveEvidence()
    private let resolverWatch: ResolverWatch?
    /// On whose behalf lookups are made.
    let asker: Asker

    /// Starts watching; the first verdict comes within milliseconds.
    ///
    /// Internet checks are made by `web`, and not at all without it.
    package convenience init(
        _ configuration: ReachabilityConfiguration, bus: EventBus, resolver: any NameResolver, time: any TimeSource,
        web: (any HTTPChecker)? = nil
    ) {
        self.init(configuration, bus: bus, resolver: resolver, time: time, kernel: NetlinkOptions(), web: web)
    }

    /// Starts watching a kernel as `kernel` has it: a test's namespace, or a kernel that refuses.
    package init(
        _ configuration: ReachabilityConfiguration, bus: EventBus, resolver: any NameResolver, time: any TimeSource,
        kernel options: NetlinkOptions, resolverFiles: ResolverFiles = ResolverFiles(),
        resolverAddresses: (@Sendable () -> [IPAddress])? = nil,
        web: (any HTTPChecker)? = nil
    ) {
        let parts = ReachabilityDependencies(
            configuration: configuration, bus: bus, resolver: resolver, time: time,
            resolverAddresses: resolverAddresses ?? { resolverFiles.read().finalServers },
            evidence: self.evidence, web: web)
        let board = ReachabilityStore(mode: options.isOnce ? .once : .event)
        self.board = board
        self.asker = configuration.asker
        bus.attach(self.evidence)
        do throws(NetlinkError) {
            self.thread = try NetlinkThread(options: options) { kernel in
                ReachabilityEngine(kernel: kernel, parts: parts, board: board)
            }
        } catch {
            self.thread = nil
            board.write { content in
                content.blindness = error.description
                content.targetOrder = configuration.targets
                content.isReady = true
            }
        }
        self.resolverWatch =
            options.isOnce || resolverAddresses != nil
            ? nil : ReachabilityMonitor.watch(resolverFiles, for: self.thread)
        // Only a machine that checks wants to hear of trouble.
        guard parts.checksInternet, let thread = self.thread else { return }
        bus.attach(TroubleSink { [weak thread] in thread?.send(.requestFailed) })
    }

    // Without a watch the files are still looked at with everything else, every few seconds.
    private static func watch(_ files: ResolverFiles, for thread: NetlinkThread<ReachabilityEngine>?) -> ResolverWatch?
    {
        try? ResolverWatch(files) { [weak thread] _ in _ = thread?.send(.resolversChanged) }
    }

    /// Looks once without watching: one dump and the lookups, and the targets' names within `limit`.
    public static func look(
        _ configuration: ReachabilityConfiguration, resolver: any NameResolver, time: any TimeSource,
        within limit: Duration = .seconds(5)
    ) async -> ReachabilityStatus {
        await self.look(configuration, resolver: resolver, time: time, within: limit, kernel: NetlinkOptions())
    }

    package static func look(
        _ configuration: ReachabilityConfiguration, resolver: any NameResolver, time: any TimeSource,
        within limit: Duration, kernel options: NetlinkOptions
    ) async -> ReachabilityStatus {
        var options = options
        options.isOnce = true
        let monitor = ReachabilityMonitor(
            configuration, bus: EventBus(time: time), resolver: resolver, time: time, kernel: options)
        defer { monitor.stop() }
        return await monitor.firstStatus(within: limit)
    }

    /// Everything known now, as people see it: what was gained lately shows once it is stable.
    public func status() -> ReachabilityStatus { self.board.status }

    /// True once there is a first verdict; `unknown` is a verdict.
    public var isReady: Bool { self.board.read { $0.isReady } }

    /// Why the kernel cannot be read, in one sentence without a final full stop; nil while it can.
    public var blindness: String? { self.board.read { $0.blindness } }

    /// The first status with every configured target's name answered; what is known by then, after `limit`.
    public func firstStatus(within limit: Duration) async -> ReachabilityStatus {
        await withCheckedContinuation { waiter in
            guard self.thread?.send(.tellFirst(within: limit, waiter)) ?? false else { return waiter.resume() }
        }
        return self.board.status
    }

    /// Ends the watch; verdicts stay as they were last.
    public func stop() {
        self.resolverWatch?.stop()
        self.thread?.stop()
    }

    /// Looks again at everything now; how long it took.
    package func lookAgain() async -> Duration {
        await withCheckedContinuation { waiter in
            guard self.thread?.send(.look(waiter)) ?? false else { return waiter.resume(returning: .zero) }
        }
    }

    /// What the kernel says about some addresses now.
    func survey(_ question: RouteQuery) async -> RouteReport {
        let words = self.blindness ?? "the monitor has been stopped"
        return await withCheckedContinuation { waiter in
            guard self.thread?.send(.survey(question, waiter)) ?? false else {
                return waiter.resume(returning: .blind(words))
            }
        }
    }

    /// What requests from `source` showed within the last half minute; nil where none succeeded.
    func passive(from source: IPAddress?, at now: MonotonicTime) -> PassiveFindings? {
        self.evidence.fresh(from: source, at: now).map { PassiveFindings($0, at: now) }
    }

    /// Calls `body` once, after `delay` or when the monitor stops; false where nobody keeps the time.
    func remind(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Bool {
        self.thread?.send(.remind(after: delay, body)) ?? false
    }

    // MARK: Paths for tasks

    /// The verdict that gates go by; `unknown` for a target that nobody watches.
    public func current(_ target: Target) -> TargetVerdict {
        self.board.read { $0.targetsForGates[target] } ?? TargetVerdict(target: target, verdict: .unknown)
    }

    /// Watches a target: one call soon, then one at every change, all on the netlink thread.
    public func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
        let id = self.lastWatch.add(1, ordering: .relaxed).newValue
        guard let thread = self.thread, thread.send(.watch(target, id: id, sink: sink)) else {
            sink(TargetVerdict(target: target, verdict: .unknown))
            return PathWatch {}
        }
        return PathWatch { [weak thread] in thread?.send(.unwatch(id)) }
    }

    /// True while `address` is this host's, on a link in any state; true when the monitor is blind.
    public func holdsAddress(_ address: IPAddress) -> Bool {
        if address.isLoopback { return true }
        return self.board.read {
            $0.blindness != nil || !$0.isReady || $0.heldAddresses.contains(address.withoutZone)
        }
    }

    /// The verdict of a family that gates go by.
    public func family(_ family: AddressFamily) -> Verdict {
        self.board.read { $0.familiesForGates[family] } ?? .unknown
    }

    /// True when the link of `path` has this name, or this one besides (`altname` in ip-link(8)).
    public func isInterface(_ name: String, of path: NetworkPath) -> Bool {
        path.interface == name
            || self.board.read { $0.status.links.contains { $0.index == path.index && $0.isNamed(name) } }
    }
}

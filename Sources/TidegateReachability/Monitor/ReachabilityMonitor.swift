internal import Synchronization
public import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// Watches links, addresses, routes and rules of this network namespace, and determines where packets would go.
///
/// It runs one thread, `tg-netlink`, until it is stopped or released. It needs no privileges. If the kernel cannot be
/// read, every level is `unknown`, all gates are open, and ``unavailableReason`` gives the reason.
package final class ReachabilityMonitor: PathSource, Sendable {
    /// Carries the monitor's events.
    let bus: EventBus
    private let store: ReachabilityStore
    private let thread: LoopThread<ReachabilityEngine>?
    private let lastWatch = Atomic<UInt64>(0)
    /// What recent successful requests proved.
    let evidence = PassiveEvidence()
    private let resolverWatch: ResolverWatch?
    /// The socket properties for lookups of sentinels and targets.
    let lookupContext: LookupContext
    /// The address that stands for the internet, by family.
    let sentinels: [AddressFamily: IPAddress]

    /// Starts watching the kernel with the sockets that `kernel` describes, which may be in another namespace.
    package init(
        _ configuration: ReachabilityConfiguration, bus: EventBus, resolver: any NameResolver, time: any TimeSource,
        kernel options: NetlinkOptions = NetlinkOptions(), resolverFiles: ResolverFiles = ResolverFiles(),
        resolverAddresses: (@Sendable () -> [IPAddress])? = nil,
        web: (any HTTPChecker)? = nil, targetChecker: (any TargetChecker)? = nil
    ) {
        let dependencies = ReachabilityEngine.Dependencies(
            configuration: configuration, bus: bus, resolver: resolver, time: time,
            systemResolvers: resolverAddresses ?? { resolverFiles.read().finalServers },
            evidence: self.evidence, web: web, targetChecker: targetChecker)
        let store = ReachabilityStore(mode: options.isOnce ? .once : .event)
        self.bus = bus
        self.store = store
        self.lookupContext = LookupContext(mark: configuration.mark, uid: configuration.uid)
        self.sentinels = configuration.sentinels.compactMapValues(\.first)
        bus.attach(self.evidence)
        do throws(LoopError) {
            self.thread = try LoopThread(name: "tg-netlink") { loop, inbox in
                var dependencies = dependencies
                dependencies.send = { _ = inbox.put($0) }
                return ReachabilityEngine(
                    kernel: NetlinkClient(loop: loop, options: options), dependencies, store: store)
            }
        } catch {
            self.thread = nil
            store.write { content in
                content.unavailableReason = "starting the netlink thread: \(error)"
                content.targetOrder = configuration.targets
                content.isReady = true
            }
        }
        let thread = self.thread
        let watchesFiles = !options.isOnce && resolverAddresses == nil
        // Without a watch, every periodic evaluation still reads the files.
        self.resolverWatch =
            watchesFiles
            ? try? ResolverWatch(resolverFiles) { [weak thread] _ in _ = thread?.send { $0.resolversChanged() } } : nil
        guard dependencies.checksInternet, let thread else { return }
        bus.attach(FailedAttemptObserver { [weak thread] in thread?.send { $0.requestFailed() } })
    }

    /// Evaluates once without watching: one dump and the lookups, and names of targets within `limit`.
    package static func evaluateOnce(
        _ configuration: ReachabilityConfiguration, resolver: any NameResolver, time: any TimeSource,
        within limit: Duration, kernel options: NetlinkOptions = NetlinkOptions()
    ) async -> ReachabilityStatus {
        var options = options
        options.isOnce = true
        let monitor = ReachabilityMonitor(
            configuration, bus: EventBus(time: time), resolver: resolver, time: time, kernel: options)
        defer { monitor.stop() }
        return await monitor.firstStatus(within: limit)
    }

    /// The current published state: a gain shows after it has been stable.
    package var status: ReachabilityStatus { self.store.status }

    /// The status, extended by these targets: their verdicts for gates, if they are watched.
    func status(including targets: Set<Target>) -> ReachabilityStatus {
        var status = self.status
        let known = Set(status.targets.map(\.target))
        status.targets += targets.subtracting(known).map(self.current)
        return status
    }

    /// True after the first verdict, which may be `unknown`; its events have been published by then.
    package var isReady: Bool { self.store.read { $0.isReady } }

    /// Why the kernel cannot be read, in one sentence without a full stop; nil if it can.
    package var unavailableReason: String? { self.store.read { $0.unavailableReason } }

    /// Whether the netlink thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.thread?.load }

    /// The first status in which every configured target's name is resolved; otherwise the status after `limit` or when
    /// the Swift task is cancelled.
    package func firstStatus(within limit: Duration) async -> ReachabilityStatus {
        // A stream, because a continuation would not end with the Swift task.
        let (first, continuation) = AsyncStream.makeStream(of: Never.self)
        if self.thread?.send({ $0.waitForStatus(within: limit) { continuation.finish() } }) ?? false {
            for await _ in first {}
        }
        return self.store.status
    }

    /// Stops watching; the last verdicts stay.
    package func stop() {
        self.resolverWatch?.stop()
        self.thread?.stop()
    }

    /// Evaluates everything now; returns the duration.
    package func evaluateNow() async -> Duration { await self.ask({ $0.evaluateNow() }, or: .zero) }

    /// What the kernel would do now with a packet to an address; `unknown` if it cannot be queried.
    package func route(to address: IPAddress) async -> AddressRoute {
        await self.ask({ $0.route(to: address) }, or: AddressRoute(verdict: .unknown))
    }

    /// The kernel's current routes to some addresses.
    func routeReport(_ query: RouteQuery) async -> RouteReport {
        let reason = self.unavailableReason ?? "the monitor has been stopped"
        return await self.ask({ $0.report(query) }, or: .unavailable(reason))
    }

    // Returns the engine's answer, or `fallback` if there is no thread.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (ReachabilityEngine) -> Answer, or fallback: Answer
    ) async -> Answer {
        await withCheckedContinuation { waiter in
            let isSent = self.thread?.send { waiter.resume(returning: question($0)) } ?? false
            if !isSent { waiter.resume(returning: fallback) }
        }
    }

    /// Calls `body` once, after `delay` or when the monitor stops; false if there is no thread for it.
    package func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Bool {
        self.thread?.send { $0.call(after: delay, body) } ?? false
    }

    // MARK: Findings of diagnoses

    /// Publishes how good the way out is.
    func setQuality(_ quality: QualityStatus) { self.store.write { $0.status.quality = quality } }

    /// Lowers the published levels of the families over which nothing works although they have a route.
    func setFailing(_ families: [AddressFamily: UnreachableReason]) async {
        await self.ask({ $0.setFailing(families) }, or: ())
    }

    /// Discards the findings of a diagnosis.
    func forgetFailing() { self.thread?.send { $0.setFailing([:]) } }

    /// Records that the check URLs have answered over these families since a diagnosis began.
    func answered(_ families: [AddressFamily], since moment: MonotonicTime) {
        if !families.isEmpty { self.thread?.send { $0.answered(families, since: moment) } }
    }

    // MARK: Paths for tasks and apps

    /// The current path to a target, then every change, as gates see them: a loss immediately, a gain after it has been
    /// stable.
    ///
    /// Each iteration has its own watch, which ends with it. A consumer that is slower than the changes receives only
    /// the newest one: it supersedes those that were missed.
    package func paths(to target: Target) -> PathUpdates { PathUpdates(source: self, target: target) }

    /// The verdict for gates; `unknown` for a target that is neither watched nor configured.
    package func current(_ target: Target) -> TargetVerdict {
        self.store.read { $0.gatingTargets[target] } ?? TargetVerdict(target: target, verdict: .unknown)
    }

    /// Watches a target: calls `sink` soon, then at every change, always on the netlink thread.
    package func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
        let id = self.lastWatch.add(1, ordering: .relaxed).newValue
        guard let thread = self.thread, thread.send({ $0.watch(target, id, sink) }) else {
            sink(TargetVerdict(target: target, verdict: .unknown))
            return PathWatch {}
        }
        return PathWatch { [weak thread] in thread?.send { $0.unwatch(id) } }
    }

    /// True if `address` belongs to this host, on a link in any state; true if the kernel cannot be read.
    package func holdsAddress(_ address: IPAddress) -> Bool {
        if address.isLoopback { return true }
        return self.store.read {
            $0.unavailableReason != nil || !$0.isReady || $0.heldAddresses.contains(address.withoutZone)
        }
    }

    /// The verdict of a family for gates.
    package func family(_ family: AddressFamily) -> Verdict {
        self.store.read { $0.gatingFamilies[family] } ?? .unknown
    }

    /// Checks the internet over a family again, and calls back when the gates have the result.
    package func confirmInternet(over family: AddressFamily, completion: @escaping @Sendable () -> Void) {
        if self.thread?.send({ $0.confirmInternet(over: family, completion) }) != true { completion() }
    }

    /// True if the link of `path` has this name, or this alternative name (`altname` in ip-link(8)).
    package func isInterface(_ name: String, of path: NetworkPath) -> Bool {
        path.interface == name
            || self.store.read { $0.status.links.contains { $0.index == path.index && $0.isNamed(name) } }
    }
}

/// The current path to a target, then every change; never ends on its own.
///
/// A consumer that falls behind receives only the newest change.
public struct PathUpdates: AsyncSequence, Sendable {
    let source: any PathSource
    let target: Target

    /// Starts a watch, which ends with the iterator or with its task.
    public func makeAsyncIterator() -> AsyncStream<TargetVerdict>.Iterator {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TargetVerdict.self, bufferingPolicy: .bufferingNewest(1))
        let watch = self.source.watch(self.target) { continuation.yield($0) }
        continuation.onTermination = { _ in watch.cancel() }
        return stream.makeAsyncIterator()
    }
}

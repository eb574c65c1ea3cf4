internal import TidegateAttribution
public import TidegateCore
internal import TidegateLoop
internal import TidegateNetwork

/// The state of the links, addresses, routes and rules of this network namespace, and where packets would go.
///
/// ``NetlinkThread`` finds it out. If the kernel cannot be read, every level is `unknown`, all gates are open, and
/// ``unavailableReason`` gives the reason.
package struct ReachabilityMonitor: PathSource, Sendable {
    let configuration: ReachabilityConfiguration
    /// Carries the monitor's events.
    let bus: EventBus
    let time: any TimeSource
    let store: ReachabilityStore
    /// The commands for the netlink thread.
    let inbox: Result<Inbox<ReachabilityEngine.Command>, LoopError>
    /// What recent successful requests proved.
    let evidence = PassiveEvidence()
    /// The socket properties for lookups of sentinels and targets.
    let lookupContext: LookupContext
    /// The address that stands for the internet, by family.
    let sentinels: [AddressFamily: IPAddress]
    /// Kept running; nil for the work of the thread itself, which must not keep it.
    private var thread: NetlinkThread?

    /// A monitor that knows nothing before its ``NetlinkThread`` runs.
    package init(
        _ configuration: ReachabilityConfiguration, bus: EventBus, time: any TimeSource,
        mode: ReachabilityStatus.Mode = .event
    ) {
        (self.configuration, self.bus, self.time) = (configuration, bus, time)
        self.store = ReachabilityStore(mode: mode)
        self.inbox = Result { () throws(LoopError) in try Inbox() }
        self.lookupContext = LookupContext(mark: configuration.mark, uid: configuration.uid)
        self.sentinels = configuration.sentinels.compactMapValues(\.first)
    }

    /// The same monitor, which keeps its thread running until the last copy of it is released.
    package func running(_ thread: NetlinkThread) -> ReachabilityMonitor {
        var monitor = self
        monitor.thread = thread
        return monitor
    }

    /// Whether the netlink thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.thread?.load }

    /// Stops watching; the last verdicts stay.
    package func stop() { self.thread?.stop() }

    /// Sends a command to the netlink thread; false if it does not run any more.
    @discardableResult
    func send(_ command: @escaping ReachabilityEngine.Command) -> Bool {
        (try? self.inbox.get())?.put(command) ?? false
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

    /// The first status in which every configured target's name is resolved; otherwise the status after `limit` or when
    /// the Swift task is cancelled.
    package func firstStatus(within limit: Duration) async -> ReachabilityStatus {
        // A stream, because a continuation would not end with the Swift task.
        let (first, continuation) = AsyncStream.makeStream(of: Never.self)
        if self.send({ $0.waitForStatus(within: limit) { continuation.finish() } }) {
            for await _ in first {}
        }
        return self.store.status
    }

    /// Evaluates everything now; returns the duration.
    package func evaluateNow() async -> Duration { await self.ask({ $0.evaluateNow() }, or: .zero) }

    /// What the kernel would do now with a packet to an address; `unknown` if it cannot be queried.
    package func route(to address: IPAddress) async -> AddressRoute {
        await self.ask({ $0.route(to: address) }, or: AddressRoute(verdict: .unknown))
    }

    /// Whether the kernel has a route for packets to an address that are bound to a link; true without an answer.
    package func hasRoute(to address: IPAddress, over link: String) async -> Bool {
        await self.ask({ $0.hasRoute(to: address, over: link) }, or: true)
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
            let isSent = self.send { waiter.resume(returning: question($0)) }
            if !isSent { waiter.resume(returning: fallback) }
        }
    }

    /// Calls `body` once, after `delay` or when the monitor stops; false if there is no thread for it.
    package func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Bool {
        self.send { $0.call(after: delay, body) }
    }

    // MARK: The way out

    /// The current diagnosis of this host; nil until the first suspicion or measurement on the current path.
    package var diagnosis: HostDiagnosis? { self.store.read { $0.diagnosis } }

    /// The latest diagnosis's evidence about a family's gateway and what lies beyond it; nil if it is too old.
    package func evidence(_ family: AddressFamily) -> SilenceEvidence? {
        let now = self.time.monotonic()
        return self.store.read { $0.proof.evidence(family, at: now) }
    }

    /// Diagnoses this host, or waits for a running diagnosis.
    ///
    /// Two concurrent diagnoses would share the rate limit of a router's answers.
    package func diagnose() async {
        let _: Bool? = await self.answer { engine, call in engine.wayOut.diagnose { _ in call(true) } }
    }

    /// The cause of an address's silence if the way out is dead; nil if it is not, or if another next hop leads there.
    ///
    /// Without an address, the cause of silence about names. It diagnoses this host, unless a diagnosis was made
    /// recently.
    package func outage(at address: IPAddress?, over path: NetworkPath?) async -> Cause? {
        await self.answer { $0.wayOut.outage(at: address, over: path, $1) } ?? nil
    }

    /// Requests a diagnosis for a client that reads it.
    package func viewed() { self.send { $0.wayOut.handle(.viewed) } }

    /// Takes what requests and connections of this host show about its ways out.
    package var recorder: EvidenceRecorder {
        EvidenceRecorder(inbox: try? self.inbox.get(), store: self.store, evidence: self.evidence)
    }

    // The answer that the engine gives later; nil if the netlink thread does not run.
    private func answer<Answer: Sendable>(
        _ question: @escaping @Sendable (ReachabilityEngine, @escaping @Sendable (Answer) -> Void) -> Void
    ) async -> Answer? {
        await withCheckedContinuation { waiter in
            let isSent = self.send { question($0) { waiter.resume(returning: $0) } }
            if !isSent { waiter.resume(returning: nil) }
        }
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
        let id = self.store.newWatch()
        guard self.send({ $0.watch(target, id, sink) }) else {
            sink(TargetVerdict(target: target, verdict: .unknown))
            return PathWatch {}
        }
        return PathWatch { [inbox] in _ = (try? inbox.get())?.put { $0.targets.unwatch(id) } }
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
        if !self.send({ $0.confirmInternet(over: family, completion) }) { completion() }
    }

    /// True if the link of `path` has this name, or this alternative name (`altname` in ip-link(8)).
    package func isInterface(_ name: String, of path: NetworkPath) -> Bool {
        path.interface == name
            || self.store.read { $0.status.links.contains { $0.index == path.index && $0.isNamed(name) } }
    }
}

/// Takes evidence from observers on any thread; it keeps neither the monitor nor its bus.
package struct EvidenceRecorder: Sendable {
    let inbox: Inbox<ReachabilityEngine.Command>?
    let store: ReachabilityStore
    let evidence: PassiveEvidence

    /// Records evidence; called for each request of a busy program.
    package func record(_ evidence: TrafficEvidence) {
        switch evidence {
        // The netlink thread does not wake up for each of these.
        case .success(let request):
            self.evidence.record(request)
            if request.connect ?? .zero < Thresholds.repeatedPacket { return }
        case .doubt(let family): return self.evidence.doubt(family)
        case .failure(let moment): if !self.evidence.isNewFailure(at: moment) { return }
        case .answer: if self.store.read({ $0.diagnosis?.isBroken != true }) { return }
        case .silence, .silenceOf, .attempt, .unclear: break
        }
        _ = self.inbox?.put { $0.record(evidence) }
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

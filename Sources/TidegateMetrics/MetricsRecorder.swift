package import TidegateCore

/// Records events in the metrics, and writes the exposition.
///
/// Recording for an existing series takes no lock and allocates nothing. The monitor attaches a sink to its bus that
/// forwards every event.
package final class MetricsRecorder: EventSink {
    let registry: Registry
    private let tasks: TaskRecorder
    private let attempts: AttemptRecorder
    private let gate: GateRecorder
    private let reachability: ReachabilityRecorder
    private let targets: TargetRecorder
    private let probes: ProbeRecorder
    private let netlink: NetlinkRecorder
    private let published = FixedLabelFamily<Event.Topic, Counter>(Catalogue.busPublished)
    private let daemon: DaemonRecorder
    private let conflicts = SingleFamily<Counter>(Catalogue.metricConflicts)
    private let overflows = TableFamily<TextLabels, Counter>(Catalogue.labelOverflow)

    /// A recorder of a monitor that started at `start`, on both clocks; the level is unknown until the first verdict.
    ///
    /// `hostLabel` decides whether attempts have a host label. Checks are recorded for targets with a name. With
    /// `settlesParties`, a silent failure is counted up to 30 s later, once its party is settled.
    package init(
        build: BuildInfo, start: MonotonicTime, wall: WallTime, hostLabel: HostLabel = .off,
        targetNames: [Target: String] = [:], settlesParties: Bool = false
    ) {
        let registry = Registry(start: wall)
        self.registry = registry
        self.tasks = TaskRecorder(registry, settlesParties: settlesParties)
        self.attempts = AttemptRecorder(registry, hosts: HostMetrics(hostLabel, overflows: self.overflows))
        self.gate = GateRecorder(registry)
        self.reachability = ReachabilityRecorder(registry, start: start)
        self.targets = TargetRecorder(registry, names: targetNames)
        IncidentCollector.register(in: registry)
        self.probes = ProbeRecorder(registry)
        self.netlink = NetlinkRecorder(registry)
        ConnectionCollector.register(in: registry, overflows: self.overflows)
        registry.add(self.published)
        let subscribers = SubscriberKind.allCases
        registry.collect(Catalogue.busDropped, by: subscribers) { $0.subscribers[$1]?.dropped }
        registry.collect(Catalogue.busQueueLength, by: subscribers) { $0.subscribers[$1]?.queued }
        registry.collect(Catalogue.busQueueCapacity, by: subscribers) { $0.subscribers[$1]?.capacity }
        registry.add(self.conflicts, self.overflows)
        self.daemon = DaemonRecorder(registry, build: build)
        ProcessCollector.register(in: registry)
    }

    /// Every metric in the order of the exposition.
    package var definitions: [MetricDefinition] { self.registry.families.map(\.definition) + [Catalogue.metricSeries] }

    /// A factory for the program's swift-metrics; calls `onConflict` once for each rejected name.
    package func adapter(onConflict: @escaping @Sendable (String) -> Void = { _ in }) -> MetricsAdapter {
        MetricsAdapter(
            self.registry, conflicts: self.conflicts.series, overflows: self.overflows, onConflict: onConflict)
    }

    package func receive(_ event: Event) { self.record(event.payload, at: event.time, event.moment) }

    /// Records an event; never blocks.
    package func record(_ event: Event) { self.record(event.payload, at: event.time, event.moment) }

    /// Records the round trip of an echo to a host on the way out; only a metric needs the single ones.
    package func record(roundTrip: Duration, to segment: Segment) {
        self.reachability.roundTrips[segment].observe(roundTrip)
    }

    // The payload is a parameter, because a switch over the event's property would copy it.
    private func record(_ payload: Event.Payload, at time: WallTime, _ moment: MonotonicTime) {
        self.published[payload.topic].add()
        switch payload {
        case .path(let path): self.reachability.record(path, at: time, moment)
        case .targetCheck(let check): self.targets.record(check)
        case .netlink(let netlink): self.netlink.record(netlink)
        case .task(let task):
            let source = Exemplar.Source(task: task.id, trace: task.trace, time: time)
            self.record(task.kind, of: source, kind: task.taskKind, at: moment)
        case .session(.poolReplaced): self.attempts.epochs.series.add()
        case .session(.attributionRevised(let task, attempt: _, from: _, let party)):
            self.tasks.revised(task, to: party)
        case .probe(let probe): self.probes.record(probe)
        case .daemon(let daemon):
            self.daemon.record(daemon, at: time)
            if case .stopping = daemon { self.tasks.settle(at: nil) }
        case .diagnosis, .quality, .uplink, .link, .session, .connection, .incident: break
        }
    }

    /// The exposition of all families, or of those in `choice`.
    package func exposition(
        of inputs: ScrapeInputs, in format: ExpositionFormat, choice: FamilyChoice = .all
    ) -> [UInt8] {
        self.tasks.settle(at: inputs.now)
        return self.registry.exposition(of: inputs, in: format, choice: choice)
    }

    /// The samples of the text exposition as values, in the same order; exemplars are only for scrapes.
    package func samples(of inputs: ScrapeInputs) -> [MetricSample] {
        self.tasks.settle(at: inputs.now)
        return self.registry.samples(of: inputs)
    }

    @inline(__always)
    private func record(
        _ event: TaskEvent.Kind, of source: Exemplar.Source, kind: TaskKind, at moment: MonotonicTime
    ) {
        switch event {
        case .created: self.tasks.submissions[kind].add()
        case .resumed: self.tasks.resumes.series.add()
        case .suspended(let reason): self.tasks.suspends[reason].add()
        case .held(let reason, detail: _): self.tasks.holds[reason].add()
        case .released(let reason, let duration): self.tasks.heldSeconds[reason].add(duration)
        case .gate(let result, let waited): self.gate.record(result, waited: waited)
        case .progress(_, let delta): self.attempts.progressed(delta, kind: kind)
        case .attemptFailed(let summary, _, _, isCharged: _):
            self.attempts.ended(summary, of: source, isSuccess: false)
        case .attemptSucceeded(let summary): self.attempts.ended(summary, of: source, isSuccess: true)
        case .retryScheduled(let reason, let delay): self.attempts.retried(reason, delay: delay)
        case .retriesExhausted(let reason): self.attempts.retriesExhausted[reason].add()
        case .restarted: self.attempts.restarts.series.add()
        case .refetched(let bytes): self.attempts.refetched.series.add(bytes)
        case .completed(let result):
            self.tasks.completed(result, source, at: moment)
            self.attempts.completed(result)
        case .attemptStarted, .responseHead, .continued, .moved, .moveFailed: break
        }
    }
}

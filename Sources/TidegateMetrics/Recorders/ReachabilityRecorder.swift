internal import Synchronization
internal import TidegateCore

/// Records changes of verdicts.
final class ReachabilityRecorder: Sendable {
    private let levels: Mutex<LevelDurations>
    // All series exist from the start: Prometheus sees no increase in a series that starts at 1.
    private let transitions = TableFamily<Label2<ReachabilityLevel, ReachabilityLevel>, Counter>(
        Catalogue.transitions, from: Label2.allCases.filter { $0.first != $0.second })
    private let lastTransition = SingleFamily<Gauge>(Catalogue.lastTransition)
    let roundTrips = TableFamily<Segment, Histogram>(Catalogue.segmentRoundTrip)
    private let detection = SingleFamily<Histogram>(Catalogue.detection)

    init(_ registry: Registry, start: MonotonicTime) {
        self.levels = Mutex(LevelDurations(level: .unknown, since: start))
        registry.add(self.roundTrips)
        ReachabilityCollector.registerLevels(in: registry)
        // Events end a level; a scrape adds the time of the current one.
        registry.collect(Catalogue.levelSeconds) { [weak self] inputs, samples in
            guard let levels = self?.levels.withLock({ $0 }) else { return }
            for level in ReachabilityLevel.allCases {
                samples.add(level.label, value: levels.total(level, until: inputs.now).metricSeconds)
            }
        }
        registry.add(self.transitions, self.lastTransition)
        ReachabilityCollector.register(in: registry)
        registry.add(self.detection)
    }

    func record(_ change: PathEvent, at time: WallTime, _ moment: MonotonicTime) {
        if let detection = change.detection { self.detection.series.observe(detection) }
        switch change.scope {
        case .family, .target: break
        case .global:
            self.levels.withLock { $0.change(to: change.to.level, at: moment) }
            guard change.from.level != change.to.level else { return }
            self.transitions[Label2(change.from.level, change.to.level)].add()
            self.lastTransition.series.set(time.seconds)
        }
    }
}

/// Adds up how long each level lasted, including the current one.
struct LevelDurations {
    private(set) var level: ReachabilityLevel
    private(set) var since: MonotonicTime
    private(set) var totals: [ReachabilityLevel: Duration] = [:]

    /// Starts another level; a time before the last change counts as the last change.
    mutating func change(to level: ReachabilityLevel, at moment: MonotonicTime) {
        self.totals[self.level, default: .zero] += max(.zero, moment - self.since)
        self.since = max(self.since, moment)
        self.level = level
    }

    /// The total duration of `level` until `now`.
    func total(_ level: ReachabilityLevel, until now: MonotonicTime) -> Duration {
        let past = self.totals[level] ?? .zero
        return level == self.level ? past + max(.zero, now - self.since) : past
    }
}

/// Records messages read from the kernel, and messages lost.
struct NetlinkRecorder: Sendable {
    private let messages = FixedLabelFamily<NetlinkEvent.MessageType, Counter>(Catalogue.netlinkMessages)
    private let overruns = SingleFamily<Counter>(Catalogue.netlinkOverruns)
    private let resyncs = TableFamily<NetlinkEvent.ResyncReason, Counter>(
        Catalogue.netlinkResyncs, from: NetlinkEvent.ResyncReason.allCases)
    private let resyncDuration = SingleFamily<Histogram>(Catalogue.netlinkResyncDuration)
    private let malformed = SingleFamily<Counter>(Catalogue.netlinkMalformed)
    private let lookups = SingleFamily<Counter>(Catalogue.netlinkLookups)

    init(_ registry: Registry) {
        registry.add(
            self.messages, self.overruns, self.resyncs, self.resyncDuration, self.malformed, self.lookups)
        registry.collect(Catalogue.netlinkMode, by: [ReachabilityStatus.Mode.event, .storm, .poll]) {
            $0.status.mode == $1 ? 1 : 0
        }
        registry.collect(Catalogue.netlinkReceiveBuffer) { $0.status.health.receiveBufferBytes }
    }

    func record(_ event: NetlinkEvent) {
        switch event {
        case .received(let type, let count): self.messages[type].add(count)
        case .overrun: self.overruns.series.add()
        case .resynced(let reason, let duration):
            self.resyncs[reason].add()
            self.resyncDuration.series.observe(duration)
        case .malformed(let count): self.malformed.series.add(count)
        case .lookedUp(let count): self.lookups.series.add(count)
        case .dumpInterrupted, .modeChanged, .receiveBuffer, .lost: break
        }
    }
}

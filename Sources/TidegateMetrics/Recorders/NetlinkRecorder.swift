internal import TidegateCore

/// Records what is read from the kernel, and what is missed.
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

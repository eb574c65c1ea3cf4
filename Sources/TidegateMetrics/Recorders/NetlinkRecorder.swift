internal import TidegateCore

/// Records what is read from the kernel, and what is missed.
struct NetlinkRecorder: Sendable {
    private let messages: FixedLabelFamily<NetlinkEvent.MessageType, Counter>
    private let overruns: Counter
    private let resyncs: TableFamily<NetlinkEvent.ResyncReason, Counter>
    private let resyncDuration: Histogram
    private let malformed: Counter
    private let lookups: Counter

    init(_ registry: Registry) {
        self.messages = registry.adding(FixedLabelFamily(Catalogue.netlinkMessages))
        self.overruns = registry.adding(Catalogue.netlinkOverruns)
        self.resyncs = registry.adding(
            TableFamily(Catalogue.netlinkResyncs, from: NetlinkEvent.ResyncReason.allCases))
        self.resyncDuration = registry.adding(Catalogue.netlinkResyncDuration)
        self.malformed = registry.adding(Catalogue.netlinkMalformed)
        self.lookups = registry.adding(Catalogue.netlinkLookups)
        registry.collect(Catalogue.netlinkMode, by: [ReachabilityStatus.Mode.event, .storm, .poll]) {
            $0.status.mode == $1 ? 1 : 0
        }
        registry.collect(Catalogue.netlinkReceiveBuffer) { $0.status.health.receiveBufferBytes }
    }

    func record(_ event: NetlinkEvent) {
        switch event {
        case .received(let type, let count): self.messages[type].add(count)
        case .overrun: self.overruns.add()
        case .resynced(let reason, let duration):
            self.resyncs[reason].add()
            self.resyncDuration.observe(duration)
        case .malformed(let count): self.malformed.add(count)
        case .lookedUp(let count): self.lookups.add(count)
        case .dumpInterrupted, .modeChanged, .receiveBuffer, .lost: break
        }
    }
}

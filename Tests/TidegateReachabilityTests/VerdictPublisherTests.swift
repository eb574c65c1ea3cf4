internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTestKit

@testable internal import TidegateReachability

/// What other threads read, what is published, and when watches are called.
struct VerdictPublisherTests {
    private let sink = RecordingSink()
    private let store = ReachabilityStore(mode: .event)
    private let publisher: VerdictPublisher
    private let recorder = VerdictRecorder()
    private let now = MonotonicTime(nanoseconds: 1_000_000_000)
    private let address = IPAddress(ipv4: 0x0A00_0007)
    private let path = NetworkPath(interface: "eth0", index: 77, source: IPAddress(ipv4: 0x0A00_0002))

    init() {
        let bus = EventBus(time: TestTime())
        bus.attach(self.sink)
        self.publisher = VerdictPublisher(bus: bus, store: self.store, time: TestTime())
    }

    private func setFamilies(_ level: ReachabilityLevel, at offset: Duration = .zero) -> Bool {
        let verdict = Verdict(level: level, reason: level < .routed ? .noCarrier : nil, path: self.path)
        let families = AddressFamily.allCases.map { ReachabilityStatus.Family(family: $0, verdict: verdict) }
        let result = self.publisher.update(links: []) {
            $0.update(
                families, times: { _ in .init(gating: .zero, published: .zero) }, detection: nil, at: self.now + offset)
        }
        _ = self.publisher.publish(result.changes)
        return result.hasNewLevel
    }

    private func update(_ targets: inout TargetTable, _ verdict: Verdict) {
        let effects = targets.update(
            0, [AddressVerdict(address: self.address, verdict: verdict)], times: { _ in .usual }, detection: { nil },
            at: self.now)
        self.publisher.publish(0, effects ?? [], in: &targets)
    }

    @Test("A watch is called when its family gets another level, although its own verdict stays")
    func internetLevel() throws {
        var targets = TargetTable(configured: [])
        _ = targets.watch(Target(address: self.address), id: 1, known: nil, handler: self.recorder.handler)
        _ = self.setFamilies(.routed)
        self.update(&targets, Verdict(level: .routed, path: self.path))
        #expect(self.recorder.verdicts.map(\.internetLevel) == [.routed])
        #expect(self.setFamilies(.online, at: .seconds(1)))
        self.publisher.publishInternetLevels(in: &targets)
        #expect(self.recorder.verdicts.map(\.internetLevel) == [.routed, .online])
        #expect(self.recorder.levels == [.routed, .routed])
        self.publisher.publishInternetLevels(in: &targets)
        #expect(self.recorder.levels.count == 2, "nothing has changed")
        #expect(self.store.read { $0.gatingTargets.values.map(\.internetLevel) } == [.online])
    }

    @Test("The watch of a target without a path is not called for a level that cannot help it")
    func unreachable() {
        var targets = TargetTable(configured: [])
        _ = targets.watch(Target(address: self.address), id: 1, known: nil, handler: self.recorder.handler)
        self.update(&targets, Verdict(level: .none, reason: .noRoute))
        _ = self.setFamilies(.online)
        self.publisher.publishInternetLevels(in: &targets)
        #expect(self.recorder.levels == [.none])
    }

    @Test("Events are published for configured targets only; every target is written for its gate")
    func configured() throws {
        let target = Target(address: self.address)
        var watched = TargetTable(configured: [])
        _ = watched.watch(target, id: 1, known: nil, handler: self.recorder.handler)
        self.update(&watched, Verdict(level: .routed, path: self.path))
        #expect(self.sink.events.isEmpty && self.store.read { $0.gatingTargets[target]?.verdict.level } == .routed)
        var configured = TargetTable(configured: [target])
        self.update(&configured, Verdict(level: .routed, path: self.path))
        #expect(self.sink.events.count == 1)
        self.publisher.removeTarget(target)
        #expect(self.store.read { $0.gatingTargets.isEmpty && $0.publishedTargets.isEmpty })
    }

    @Test("The moment of a level is that of its change, which the first verdict is not")
    func since() {
        _ = self.setFamilies(.none)
        #expect(self.store.status.since == nil)
        _ = self.setFamilies(.routed, at: .seconds(1))
        #expect(self.store.status.since != nil && self.store.status.global.level == .routed)
    }

    @Test("The monitor is ready with its first verdict")
    func ready() {
        #expect(!self.publisher.isReady && !self.store.read { $0.isReady })
        self.publisher.setReady()
        #expect(self.publisher.isReady && self.store.read { $0.isReady })
    }
}

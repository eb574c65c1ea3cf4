internal import Synchronization
internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
@testable internal import TidegateReachability
internal import TidegateTestKit

/// What happens when namespaces, and links between them, come and go.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct NamespaceScenarioTests {
    @Test("A link that is moved to another namespace is gone here")
    func moved() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("link set v0 netns \(hosts.there.name)")
        let status = await fixture.status { $0.global.reason == .noInterface }
        #expect(status.global == Verdict(level: .none, reason: .noInterface))
        #expect(status.links.map(\.name) == ["lo"])
    }

    @Test("A namespace that dies takes the other ends of its links along")
    func peerDies() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        #expect(NamespaceCommand.run(["ip", "netns", "delete", hosts.there.name]).status == 0)
        let status = await fixture.status { $0.global.reason == .noInterface }
        #expect(status.global == Verdict(level: .none, reason: .noInterface))
    }

    @Test("A namespace that was deleted is let go, and one made again under its name is watched")
    func letGo() async throws {
        let hosts = try VethPairFixture()
        let name = hosts.here.name
        let outside = try NetworkNamespace("o")
        let fixture = MonitorFixture(outside, tune: { $0.namespace = "/run/netns/\(name)" })
        #expect(await fixture.first().global.level == .routed)
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("8.8.8.8"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.routed] })
        #expect(NamespaceCommand.run(["ip", "netns", "delete", name]).status == 0)
        let there = hosts.there.name
        #expect(
            await eventually { NamespaceCommand.run(["ip", "-n", there, "link", "show", "p0"]).status != 0 },
            "the other end of the link is gone, so nothing holds the namespace")
        #expect(await eventually { gate.levels == [.routed, .unknown] })
        #expect(fixture.monitor.unavailableReason != nil)
        #expect(NamespaceCommand.run(["ip", "netns", "add", name]).status == 0)
        #expect(await eventually { fixture.monitor.unavailableReason == nil })
        #expect(await eventually { gate.levels.last == ReachabilityLevel.none })
        #expect(fixture.monitor.status.links.map(\.name) == ["lo"])
        watch.cancel()
    }

    @Test("A monitor that is stopped in mid-diagnosis ends the diagnosis, and answers those that wait for it")
    func stoppedDiagnosis() async throws {
        let diagnoser = EndlessDiagnoser()
        let fixture = MonitorFixture(try VethPairFixture().here, diagnoser: { _, _ in diagnoser })
        _ = await fixture.first()
        let waiting = Task { await fixture.monitor.diagnose() }
        #expect(await eventually { diagnoser.state.load(ordering: .relaxed) == 1 })
        fixture.monitor.stop()
        await waiting.value
        #expect(await eventually { diagnoser.state.load(ordering: .relaxed) == 2 })
    }

    @Test("A monitor can be stopped twice, in the middle of a question, and from its own thread")
    func stopping() async throws {
        let hosts = try VethPairFixture()
        let here = hosts.here
        let resolver = PausedResolver()
        let unstarted = ReachabilityMonitor(.init(), bus: EventBus(time: TestTime()), time: TestTime())
        let monitor = unstarted.running(
            NetlinkThread(
                unstarted, resolver: resolver, kernel: NetlinkOptions(onThreadStart: { here.enter() }),
                resolverAddresses: { [] }))
        _ = await monitor.firstStatus(within: .seconds(60))
        let slow = VerdictRecorder()
        let waiting = monitor.watch(try Target("slow.test"), sink: slow.handler)
        #expect(await eventually { resolver.questions == 1 && !slow.levels.isEmpty })
        let published = VerdictRecorder()
        let watch = monitor.watch(try Target("8.8.8.8")) { verdict in
            monitor.stop()
            published.handler(verdict)
        }
        #expect(await eventually { published.levels == [.routed] })
        watch.cancel()
        monitor.stop()
        monitor.stop()
        resolver.answer([try address("198.51.100.2")])
        waiting.cancel()
        #expect(slow.levels.count == 1)
        let gate = VerdictRecorder()
        monitor.watch(try Target("10.0.0.7"), sink: gate.handler).cancel()
        #expect(gate.levels == [.unknown], "a monitor that has ended holds nobody back")
    }
}

/// Diagnoses until its Swift task is cancelled.
private final class EndlessDiagnoser: HostDiagnoser {
    /// 1 once it has begun, 2 once it has been cancelled.
    let state = Atomic(0)

    func responsible(for target: Target, within limit: Duration) async -> FaultParty? { nil }

    func uplinks() async -> [Uplink]? { nil }

    func echoes(to hosts: [QualityStatus.Host]?, on path: NetworkPath) async -> EchoRound { .init() }

    func measure(
        _ subject: QualitySubject, on path: NetworkPath, _ hosts: [QualityStatus.Host]
    ) async -> QualityEvidence? { nil }

    func diagnoseHost(within limit: Duration, isSilent: Bool) async -> HostFindings {
        self.state.store(1, ordering: .relaxed)
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
        self.state.store(2, ordering: .relaxed)
        return HostHealthTests.outage
    }
}

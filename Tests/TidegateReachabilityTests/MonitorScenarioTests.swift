internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// What happens to the monitor itself: unavailableReason, overruns, gates, names.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct MonitorScenarioTests {
    @Test("A kernel that refuses netlink leaves everything unknown and every gate open")
    func unavailable() async throws {
        let hosts = try VethPairFixture()
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("8.8.8.8")]
        let fixture = MonitorFixture(
            hosts.here, configuration,
            refusal: { _ in NetlinkError(operation: "opening a route netlink socket", text: "Permission denied") })
        let status = await fixture.first()
        #expect(status.global == .unknown)
        #expect(status.targets.map(\.verdict) == [.unknown])
        #expect(fixture.monitor.unavailableReason == "opening a route netlink socket: Permission denied")
        #expect(fixture.monitor.holdsAddress(try address("192.0.2.1")))
        #expect(fixture.monitor.family(.ipv4) == .unknown)
        let received = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("10.0.0.7"), sink: received.handler)
        #expect(await eventually { received.levels == [.unknown] })
        watch.cancel()
        let outcome = try WaitCondition("route").evaluate(status)
        #expect(outcome == .unsatisfied(.monitor, .monitorDown, sentence: "the kernel's network state cannot be read"))
    }

    @Test("A monitor that was refused sees again when the kernel lets it")
    func reconnect() async throws {
        let hosts = try VethPairFixture()
        let refusals = SocketRefusals(2)
        let fixture = MonitorFixture(hosts.here, refusal: refusals.next)
        let status = await fixture.status { $0.global.level == .routed }
        #expect(status.global.level == .routed)
        #expect(fixture.monitor.unavailableReason == nil)
        let lost = fixture.netlink.count { if case .lost = $0 { true } else { false } }
        #expect(lost == 2)
    }

    @Test("If multicast is refused, the monitor polls every two seconds")
    func poll() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(
            hosts.here,
            refusal: { $0 == .monitor ? NetlinkError(operation: "joining", text: "Operation not permitted") : nil })
        let status = await fixture.first()
        #expect(status.mode == .poll && status.global.level == .routed)
        try hosts.here.ip("link set v0 down")
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .adminDown)
    }

    @Test("Dropped messages are counted, and a dump heals what was missed")
    func overrun() async throws {
        let hosts = try VethPairFixture()
        let hold = Latch()
        let fixture = MonitorFixture(hosts.here, receiveBufferBytes: 1024)
        _ = await fixture.first()
        // The thread sleeps in a sink while the small buffer overflows.
        let watch = fixture.monitor.watch(try Target("10.0.0.7")) { _ in hold.wait() }
        try hosts.here.batch(
            (0..<100).map { "link set v0 mtu \(1400 - $0)" }.joined(separator: "\n") + "\nlink set v0 down")
        hold.open()
        let status = await fixture.status {
            $0.health.overruns > 0 && $0.health.isConsistent && $0.global.level == .none
        }
        watch.cancel()
        #expect(status.health.overruns >= 1)
        #expect(status.health.resyncs >= 2)
        #expect(status.global == Verdict(level: .none, reason: .adminDown))
        #expect(status.health.receiveBufferBytes > 2048)
    }

    @Test("A start amid churn ends with the right tables")
    func startAmidChurn() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            (0..<60).map { "link add veth\($0) type veth peer name vethp\($0)" }.joined(separator: "\n"))
        let here = hosts.here
        let churn = Task.detached {
            try here.batch((0..<60).map { "link del veth\($0)" }.joined(separator: "\n"))
        }
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try await churn.value
        let status = await fixture.status { $0.links.map(\.name) == ["lo", "v0"] && $0.health.isConsistent }
        #expect(status.links.map(\.name) == ["lo", "v0"])
        #expect(status.global.level == .routed)
    }

    @Test("A route storm is left alone, and verdicts stay right")
    func storm() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        let here = hosts.here
        let flood = Task.detached {
            for round in 0..<12 {
                let lines = (0..<250).map { "route replace 172.16.\($0).0/24 via 10.0.0.1 metric \(round + 1)" }
                try here.batch(lines.joined(separator: "\n"))
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        #expect(await fixture.status { $0.mode == .storm }.mode == .storm)
        try hosts.here.ip("link set v0 down")
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .adminDown)
        _ = try? await flood.value
        try hosts.here.ip("link set v0 up")
        let calm = await fixture.status { $0.mode == .event }
        #expect(calm.mode == .event)
    }

    @Test("Gates hear of a loss at once and of a gain after 200 ms")
    func gates() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("8.8.8.8:443"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.routed] })
        #expect(fixture.monitor.current(try Target("8.8.8.8:443")).verdict.level == .routed)
        try hosts.there.ip("link set p0 down")
        #expect(await eventually { gate.levels == [.routed, .none] })
        let restored = ContinuousClock.now
        try hosts.there.ip("link set p0 up")
        #expect(await eventually { gate.levels == [.routed, .none, .routed] })
        let waited = ContinuousClock.now - restored
        #expect(waited >= .milliseconds(190))
        watch.cancel()
        #expect(
            await eventually {
                fixture.monitor.current(Target(address: IPAddress(ipv4: 0x0808_0808), port: 443)).verdict == .unknown
            })
    }

    @Test("The resolvers' routes count for a name until it has addresses")
    func names() async throws {
        let hosts = try VethPairFixture()
        var configuration = ReachabilityConfiguration()
        configuration.targets = try ["api.test:443", "nowhere.test"].map { try Target($0) }
        let fixture = MonitorFixture(
            hosts.here, configuration, names: ["api.test": [try address("198.51.100.2"), try address("2001:db8:5::1")]])
        let status = await fixture.first()
        #expect(status.targets[0].addresses.map(\.verdict.level) == [.routed, .routed])
        #expect(status.targets[1].verdict == Verdict(level: .none, reason: .nameNotFound))
        #expect(fixture.monitor.current(try Target("nowhere.test")).verdict.level == .routed, "gates stay open")
        try hosts.here.ip("route add unreachable 198.51.100.0/24")
        let best = await fixture.status { $0.targets[0].addresses.first?.verdict.level == ReachabilityLevel.none }
        #expect(best.targets[0].verdict.level == .routed, "the best address counts")
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.global.level == .none }.targets[0].verdict.reason == .noCarrier)
        let before = fixture.resolver.invalidations
        try hosts.there.ip("link set p0 up")
        #expect(await eventually { fixture.resolver.invalidations > before }, "another path may have other answers")
    }

    @Test("A name of this host needs no way to a resolver")
    func localName() async throws {
        let namespace = try NetworkNamespace()
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("localhost:8080")]
        let fixture = MonitorFixture(namespace, configuration, names: ["localhost": [try address("127.0.0.1")]])
        let status = await fixture.first()
        #expect(status.targets.first?.verdict.notes == [.thisHost])
    }

    @Test("One look needs no watch and says so")
    func once() async throws {
        let hosts = try VethPairFixture()
        let here = hosts.here
        let status = await NetlinkThread.evaluateOnce(
            .init(), resolver: ScriptedResolver([:]), time: TestTime(), within: .seconds(3600),
            kernel: NetlinkOptions(onThreadStart: { here.enter() }))
        #expect(status.mode == .once)
        #expect(status.global.level == .routed)
        #expect(status.since == nil)
    }

    @Test("No privilege is needed")
    func unprivileged() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, onThreadStart: { dropPrivileges() })
        let status = await fixture.first()
        #expect(status.global.level == .routed && status.mode == .event)
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .noCarrier)
    }
}

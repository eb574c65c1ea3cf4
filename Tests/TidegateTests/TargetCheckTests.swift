import Testing
import Tidegate
import TidegateTestKit

/// Configured targets are reached, not only routed: real servers behind a real router.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct TargetCheckTests {
    private let hosts: ThreeHosts

    init() throws { self.hosts = try ThreeHosts() }

    private func monitor(_ checks: [String: TargetCheck?]) throws -> Monitor {
        var configuration = MonitorConfiguration()
        for (text, check) in checks.sorted(by: { $0.key < $1.key }) {
            let target = try Target(text)
            configuration.reachability.targets.append(target)
            configuration.reachability.targetChecks[target] = check
        }
        let hosts = self.hosts
        return try Monitor(configuration, onThreadStart: { hosts.here.enter() })
    }

    private func often(_ kind: TargetCheck.Kind = .tcp) -> TargetCheck {
        TargetCheck(kind, interval: .seconds(1), timeout: .milliseconds(500))
    }

    private func metric(_ name: String, _ target: String, in monitor: Monitor) -> String? {
        monitor.metrics.exposition().split(separator: "\n").first {
            $0.hasPrefix("\(name){target=\"\(target)\"}")
        }.flatMap { $0.split(separator: " ").last.map(String.init) }
    }

    private func level(_ text: String, in monitor: Monitor) -> ReachabilityLevel? {
        monitor.status.targets.first { $0.target.description == text }?.verdict.level
    }

    @Test("A target that accepts connections is online; one with a closed port is routed, not reached: the server's")
    func openAndClosed() async throws {
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        let (open, closed, silent) = ("198.51.100.2:7001", "198.51.100.2:7002", "198.51.100.2:7003")
        try ThreeHosts.filter(
            self.hosts.far, "table inet t { chain f { type filter hook input priority 0; tcp dport 7003 drop; }; }")
        let unhurried = TargetCheck(.tcp, interval: .seconds(3600), timeout: .seconds(600))
        let monitor = try self.monitor([open: nil, closed: nil, silent: unhurried])
        #expect(await eventually { self.level(open, in: monitor) == .online })
        #expect(await eventually { self.level(closed, in: monitor) == .limited })
        #expect(self.metric("tidegate_target_reachable", open, in: monitor) == "1")
        #expect(self.metric("tidegate_target_reachable", closed, in: monitor) == "0")
        #expect(self.metric("tidegate_target_reachable", silent, in: monitor) == nil, "absent before the first answer")
        #expect(self.metric("tidegate_target_routed", closed, in: monitor) == "1")
        let report = try #require(monitor.status.checks[try Target(closed)])
        #expect(report.isReached == false && report.lastSuccess == nil && report.nextCheck != nil)
        #expect(report.lastFailure?.reason == .refused && report.lastFailure?.party == .theirs, "\(report)")
        #expect(report.lastFailure?.text.contains("refused") ?? false, "\(report)")
        let failures = "tidegate_target_check_failures_total{target=\"\(closed)\",party=\"theirs\"}"
        #expect(monitor.metrics.exposition().contains(failures))
        #expect((monitor.status.checks[try Target(open)]?.latency ?? .zero) > .zero)
        await monitor.stop()
    }

    @Test("An absent host on this host's own network is not reached, and it is the server's failure")
    func absent() async throws {
        let target = "10.0.0.77:80"
        let monitor = try self.monitor([target: TargetCheck(.tcp, interval: .seconds(2), timeout: .seconds(5))])
        #expect(await eventually { self.level(target, in: monitor) == .limited })
        let report = try #require(monitor.status.checks[try Target(target)])
        #expect(report.lastFailure?.reason == .hostUnreachable && report.lastFailure?.party == .theirs, "\(report)")
        #expect(self.metric("tidegate_target_reachable", target, in: monitor) == "0")
        await monitor.stop()
    }

    @Test("A target that comes back is online again, and its events say so")
    func back() async throws {
        let target = "198.51.100.2:7001"
        let monitor = try self.monitor([target: self.often()])
        let events = monitor.events()
        #expect(await eventually { self.level(target, in: monitor) == .limited })
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        #expect(await eventually { self.level(target, in: monitor) == .online })
        var found: [Bool] = []
        for await event in events {
            guard case .targetCheck(let check) = event.payload, check.isNews else { continue }
            found.append(check.failure == nil)
            if found.count == 2 { break }
        }
        #expect(found == [false, true])
        await monitor.stop()
    }

    @Test("While there is no path nothing is sent and the target is not reached; afterwards it is checked at once")
    func pathLost() async throws {
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        let target = "198.51.100.2:7001"
        let monitor = try self.monitor([target: TargetCheck(.tcp, interval: .seconds(3600))])
        #expect(await eventually { self.level(target, in: monitor) == .online })
        try self.hosts.gateway.ip("link set p0 down")
        #expect(await eventually { self.level(target, in: monitor) == ReachabilityLevel.none })
        // Gates are closed first, and the report follows.
        let key = try Target(target)
        #expect(await eventually { monitor.status.checks[key]?.isReached == false })
        let report = try #require(monitor.status.checks[key])
        #expect(report.nextCheck == nil)
        #expect(report.lastFailure?.reason == .noCarrier && report.lastFailure?.party == .mine)
        #expect(self.metric("tidegate_target_reachable", target, in: monitor) == "0")
        try self.hosts.gateway.ip("link set p0 up")
        #expect(await eventually { self.level(target, in: monitor) == .online })
        await monitor.stop()
    }

    @Test("Without a port, or with check none, a target is routed at best and nothing is sent to it")
    func none() async throws {
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        let monitor = try self.monitor([
            "198.51.100.2": nil, "198.51.100.2:7001": TargetCheck(.none), "10.0.0.1:9": self.often(),
        ])
        #expect(await eventually { self.level("10.0.0.1:9", in: monitor) == .limited }, "checks are made by now")
        for target in ["198.51.100.2", "198.51.100.2:7001"] {
            #expect(self.level(target, in: monitor) == .routed)
            #expect(monitor.status.checks[try Target(target)] == nil)
            #expect(self.metric("tidegate_target_reachable", target, in: monitor) == nil)
            #expect(self.metric("tidegate_target_routed", target, in: monitor) == "1")
        }
        await monitor.stop()
    }

    @Test("No level goes down at the start, because nothing has been asked yet")
    func start() async throws {
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        let target = "198.51.100.2:7001"
        let sink = RecordingSink()
        var configuration = MonitorConfiguration()
        configuration.reachability.targets = [try Target(target)]
        let hosts = self.hosts
        let bus = EventBus(time: SystemClock())
        bus.attach(sink)
        let monitor = try Monitor(configuration, bus: bus, onThreadStart: { hosts.here.enter() })
        #expect(await eventually { self.level(target, in: monitor) == .online })
        let levels = sink.events.compactMap { event -> ReachabilityLevel? in
            guard case .path(let path) = event.payload, path.scope == .target(configuration.reachability.targets[0])
            else { return nil }
            return path.to.level
        }
        #expect(levels == [.routed, .online])
        await monitor.stop()
    }
}

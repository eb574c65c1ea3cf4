import Foundation
import Synchronization
import Testing
import Tidegate
import TidegateTestKit

/// What a monitor says about the network, in a namespace with a link that can be cut.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct MonitorNetworkTests {
    private let hosts: ThreeHosts
    private let monitor: Monitor

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.monitor = try Monitor(MonitorConfiguration(), onThreadStart: { hosts.here.enter() })
    }

    private func cut() throws { try self.hosts.gateway.ip("link set p0 down") }

    private func restore() throws { try self.hosts.gateway.ip("link set p0 up") }

    @Test("The status has the level, the links and why there is no path")
    func status() async throws {
        await self.monitor.waitForFirstStatus()
        #expect(self.monitor.status.level == .routed && self.monitor.isReady)
        #expect(self.monitor.status.links.map(\.name).contains("v0"))
        try self.cut()
        #expect(await eventually { self.monitor.status.level == .none })
        #expect(self.monitor.status.global.reason == .noCarrier)
        await self.monitor.stop()
    }

    @Test("A path is followed from its present state through a loss and a gain, for a text as for a target")
    func paths() async throws {
        var levels: [ReachabilityLevel] = []
        for await path in try self.monitor.paths(to: "198.51.100.2:443") {
            if path.verdict.level == .unknown || levels.last == path.verdict.level { continue }
            levels.append(path.verdict.level)
            if levels.count == 1 { try self.cut() }
            if levels.count == 2 { try self.restore() }
            if levels.count == 3 { break }
        }
        #expect(levels == [.routed, .none, .routed])
        let text = "198.51.100.2:99999"
        #expect(throws: TargetError.self) { try self.monitor.paths(to: text) }
        let present = await self.monitor.paths(to: try Target("10.0.0.1")).first { $0.verdict.level == .routed }
        #expect(present?.verdict.path?.interface == "v0")
        await self.monitor.stop()
    }

    @Test(
        "A closure gets the present level and every change, none while it is stopped, and the present one again after")
    func watch() async throws {
        await self.monitor.waitForFirstStatus()
        let levels = Mutex<[ReachabilityLevel]>([])
        let watch = self.monitor.watchStatus { verdict in levels.withLock { $0.append(verdict.level) } }
        #expect(await eventually { levels.withLock { $0 } == [.routed] })
        try self.cut()
        #expect(await eventually { levels.withLock { $0 } == [.routed, .none] })
        watch.stop()
        #expect(!watch.isRunning)
        try self.restore()
        #expect(await eventually { self.monitor.status.level == .routed })
        #expect(levels.withLock { $0 } == [.routed, .none])
        watch.start()
        #expect(await eventually { levels.withLock { $0 } == [.routed, .none, .routed] })
        try self.cut()
        #expect(await eventually { levels.withLock { $0 } == [.routed, .none, .routed, .none] })
        watch.stop()
        await self.monitor.stop()
    }

    @Test("A wait ends once its conditions hold; one that is over says which does not, and on which rung")
    func wait() async throws {
        let listener = try NetworkNamespaceListener(port: 7001, in: self.hosts.far)
        defer { withExtendedLifetime(listener) {} }
        try await self.monitor.wait(
            for: .gateway, .host("198.51.100.2", 7001), stable: .milliseconds(100), timeout: .seconds(60))
        try self.cut()
        #expect(await eventually { self.monitor.status.level == .none })
        do throws(WaitError) {
            try await self.monitor.wait(for: .route(family: nil), timeout: .milliseconds(300))
            Issue.record("there is a route over a link without a carrier")
        } catch {
            #expect(error.description == "timed out: carrier: v0 has no carrier")
        }
        let waiting = Task { () -> WaitError? in
            do throws(WaitError) {
                try await self.monitor.wait(for: .carrier(interface: "absent0"))
                return nil
            } catch {
                return error
            }
        }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        await self.monitor.stop()
    }

    @Test("A diagnosis finds the rung that fails and whose failure it is, for a text, a URL and a target")
    func diagnose() async throws {
        let closed = try await self.monitor.diagnose("198.51.100.2:7002")
        #expect(closed.firstFailure?.rung == .tcp && closed.firstFailure?.reason == .refused)
        #expect(closed.party == .theirs)
        let url = try #require(URL(string: "http://198.51.100.2:7002/"))
        #expect(try await self.monitor.diagnose(url).firstFailure?.reason == .refused)
        try self.cut()
        #expect(await eventually { self.monitor.status.level == .none })
        let unplugged = await self.monitor.diagnose(try ExplainTarget("198.51.100.2:7002"))
        #expect(unplugged.firstFailure?.rung == .carrier && unplugged.party == .mine, "\(unplugged)")
        let text = "http://"
        await #expect(throws: TargetError.self) { try await self.monitor.diagnose(text) }
        await self.monitor.stop()
    }

    @Test("Events say that a link and a path were lost")
    func events() async throws {
        await self.monitor.waitForFirstStatus()
        let events = self.monitor.events()
        try self.cut()
        var lost: PathEvent?
        var link: LinkEvent?
        for await event in events {
            if case .link(let change) = event.payload { link = change }
            if case .path(let change) = event.payload, change.scope == .global { lost = change }
            if lost != nil, link != nil { break }
        }
        #expect(lost?.from.level == .routed && lost?.to.level == ReachabilityLevel.none)
        #expect(link?.to?.name == "v0" && link?.to?.hasCarrier == false)
        await self.monitor.stop()
    }
}

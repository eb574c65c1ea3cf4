internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// Levels above routed, on a real kernel with a scripted internet.
@Suite(.enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
struct InternetScenarioTests {
    private let world: World
    private let web = ScriptedWebChecker()

    init() throws { self.world = try World() }

    private func watcher(_ targets: [String] = []) throws -> Watcher {
        let urls = try ["http://8.8.8.8/204", "http://[2001:4860:4860::8888]/204"].map { try InternetCheckURL($0) }
        let configuration = try ReachabilityConfiguration(
            targets: targets.map { try Target($0) }, internetCheck: try InternetCheckPolicy(urls: urls))
        return Watcher(self.world.here, configuration, web: self.web)
    }

    @Test("Checks that succeed bring both families, and a target on their way, online; a neighbour stays routed")
    func online() async throws {
        let watcher = try self.watcher(["198.51.100.2", "10.0.0.1"])
        let status = await watcher.status { $0.global.level == .online && $0.verdict("198.51.100.2")?.level == .online }
        #expect(status.families.map(\.verdict.level) == [.online, .online])
        #expect(status.verdict("198.51.100.2")?.level == .online)
        #expect(status.verdict("10.0.0.1")?.level == .routed)
        #expect(status.global.reason == nil)
        #expect(watcher.monitor.family(.ipv4).level == .online, "gates that require it see it")
        #expect(watcher.changes(.global).last?.to.level == .online)
    }

    @Test("A portal and a limited internet have their levels and reasons; gates that only want a route stay open")
    func portal() async throws {
        self.web.say { question in
            question.address.family == .ipv4
                ? HTTPCheck.Result(reached: .response, status: 302, location: "http://portal.test/login")
                : HTTPCheck.Result(reached: nil, failure: .timedOut)
        }
        let watcher = try self.watcher(["198.51.100.2"])
        let status = await watcher.status {
            $0.verdict(.ipv4).level == .portal && $0.verdict(.ipv6).level == .limited
        }
        #expect(status.verdict(.ipv4).level == .portal && status.verdict(.ipv4).reason == .portal)
        #expect(status.verdict(.ipv6).level == .limited && status.verdict(.ipv6).reason == .limited)
        #expect(watcher.monitor.family(.ipv4).level != .online)
        #expect(watcher.monitor.current(try Target("198.51.100.2")).verdict.level >= .routed)
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 204) }
        #expect(
            await watcher.status(within: .seconds(10)) { $0.verdict(.ipv4).level == .online }.verdict(.ipv4).level
                == .online)
    }

    @Test("What checks find out about the same way has no name asked for again; leaving a portal has")
    func names() async throws {
        try self.world.here.run(["ip", "-6", "route", "del", "default"])
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 302, location: "http://portal.test/login") }
        let watcher = try self.watcher(["db.test"])
        #expect(await watcher.status { $0.global.level == .portal }.global.level == .portal)
        #expect(watcher.changes(.global).last?.to.level == .portal)
        #expect(watcher.resolver.invalidations == 0)
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 204) }
        _ = await watcher.status(within: .seconds(8)) { $0.global.level == .online }
        #expect(await eventually { watcher.resolver.invalidations == 1 })
    }

    @Test("A machine that wakes up asks for names and the internet again, on the same way too")
    func wake() async throws {
        let slept = Atomic<Int>(0)
        let urls = [try InternetCheckURL("http://8.8.8.8/204")]
        let configuration = try ReachabilityConfiguration(
            targets: [try Target("db.test")], internetCheck: try InternetCheckPolicy(urls: urls))
        let watcher = Watcher(
            self.world.here, configuration, web: self.web,
            tune: { $0.suspended = { .seconds(slept.load(ordering: .acquiring)) } })
        _ = await watcher.status { $0.verdict(.ipv4).level == .online }
        let (asked, names) = (self.web.questions.count, watcher.resolver.questions.count)
        let before = watcher.resolver.invalidations
        slept.store(3600, ordering: .releasing)
        _ = await watcher.monitor.lookAgain()
        #expect(await eventually { watcher.resolver.questions.count > names })
        #expect(watcher.resolver.invalidations > before)
        #expect(await eventually { self.web.questions.count > asked }, "within a second or two, not in five minutes")
    }

    @Test("Losing the path drops the level at once, and getting it back asks again")
    func loss() async throws {
        let watcher = try self.watcher()
        _ = await watcher.status { $0.verdict(.ipv4).level == .online }
        let asked = self.web.questions.count
        try self.world.here.ip("route del default")
        let lost = await watcher.status { $0.verdict(.ipv4).level < .routed }
        #expect(lost.verdict(.ipv4).level == .local && lost.verdict(.ipv4).reason == .noRoute)
        #expect(lost.verdict(.ipv6).level == .online, "the other family goes on")
        try self.world.here.ip("route add default via 10.0.0.1")
        let back = await watcher.status { $0.verdict(.ipv4).level == .online }
        #expect(back.verdict(.ipv4).level == .online)
        #expect(self.web.questions.count > asked)
    }

    @Test("Another gateway is asked over anew before it counts as online")
    func moved() async throws {
        try self.world.there.ip("addr add 10.0.0.9/24 dev p0")
        let watcher = try self.watcher()
        _ = await watcher.status { $0.verdict(.ipv4).level == .online }
        self.web.say { _ in HTTPCheck.Result(reached: nil, failure: .timedOut) }
        try self.world.here.ip("route replace default via 10.0.0.9")
        let status = await watcher.status { $0.verdict(.ipv4).level == .limited }
        #expect(
            status.verdict(.ipv4).level == .limited && status.verdict(.ipv4).path?.gateway?.description == "10.0.0.9")
    }

    @Test("Without a configuration nobody is asked")
    func silent() async throws {
        let watcher = Watcher(self.world.here, web: self.web)
        _ = await watcher.first()
        #expect(await watcher.status { $0.global.level == .routed }.global.level == .routed)
        #expect(self.web.questions.isEmpty)
    }
}

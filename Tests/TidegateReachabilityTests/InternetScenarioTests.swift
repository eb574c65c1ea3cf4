internal import Synchronization
internal import Testing
@testable internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// Levels above routed, on a real kernel with a scripted internet.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct InternetScenarioTests {
    private let hosts: VethPairFixture
    private let web = ScriptedHTTPChecker()

    init() throws { self.hosts = try VethPairFixture() }

    private func fixture(_ targets: [String] = []) throws -> MonitorFixture {
        let urls = try ["http://8.8.8.8/204", "http://[2001:4860:4860::8888]/204"].map { try InternetCheckURL($0) }
        var configuration = ReachabilityConfiguration(targets: try targets.map { try Target($0) })
        configuration.internetCheck = InternetCheckPolicy(urls: urls)
        return MonitorFixture(self.hosts.here, configuration, web: self.web)
    }

    @Test("Checks that succeed bring both families online; targets stay routed, because nothing has asked them")
    func online() async throws {
        let fixture = try self.fixture(["198.51.100.2", "10.0.0.1"])
        let status = await fixture.status { $0.families.allSatisfy { $0.verdict.level == .online } }
        #expect(status.families.map(\.verdict.level) == [.online, .online])
        #expect(status.verdict("198.51.100.2")?.level == .routed)
        #expect(fixture.monitor.current(try Target("198.51.100.2")).internetLevel == .online)
        #expect(status.verdict("10.0.0.1")?.level == .routed)
        #expect(status.global.reason == nil)
        #expect(fixture.monitor.family(.ipv4).level == .online, "gates that require it see it")
        #expect(fixture.changes(.global).last?.to.level == .online)
    }

    @Test("A portal and a limited internet have their levels and reasons; gates that only want a route stay open")
    func portal() async throws {
        self.web.say { question in
            question.address.family == .ipv4
                ? HTTPCheck.Result(reached: .response, status: 302, location: "http://portal.test/login")
                : HTTPCheck.Result(reached: nil, failure: .timedOut)
        }
        let fixture = try self.fixture(["198.51.100.2"])
        let status = await fixture.status {
            $0.verdict(.ipv4).level == .portal && $0.verdict(.ipv6).level == .limited
        }
        #expect(status.verdict(.ipv4).level == .portal && status.verdict(.ipv4).reason == .portal)
        #expect(status.verdict(.ipv6).level == .limited && status.verdict(.ipv6).reason == .limited)
        #expect(fixture.monitor.family(.ipv4).level != .online)
        #expect(fixture.monitor.current(try Target("198.51.100.2")).verdict.level >= .routed)
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 204) }
        #expect(
            await fixture.status { $0.verdict(.ipv4).level == .online }.verdict(.ipv4).level
                == .online)
    }

    @Test("A question is answered by a new check, when gates have its result")
    func question() async throws {
        let fixture = try self.fixture()
        _ = await fixture.status { $0.verdict(.ipv4).level == .online }
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 302, location: "http://portal.test/login") }
        await withCheckedContinuation { continuation in
            fixture.monitor.confirmInternet(over: .ipv4) { continuation.resume() }
        }
        #expect(fixture.monitor.family(.ipv4).level == .portal)
    }

    @Test("A result over the same path resolves no name again; leaving a portal does")
    func names() async throws {
        try self.hosts.here.run(["ip", "-6", "route", "del", "default"])
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 302, location: "http://portal.test/login") }
        let fixture = try self.fixture(["db.test"])
        #expect(await fixture.status { $0.global.level == .portal }.global.level == .portal)
        #expect(fixture.changes(.global).last?.to.level == .portal)
        #expect(fixture.resolver.invalidations == 0)
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 204) }
        _ = await fixture.status { $0.global.level == .online }
        #expect(await eventually { fixture.resolver.invalidations == 1 })
    }

    @Test("After sleep names and the internet are checked again, on the same path too")
    func wake() async throws {
        let slept = Atomic<Int>(0)
        let urls = [try InternetCheckURL("http://8.8.8.8/204")]
        var configuration = ReachabilityConfiguration(targets: [try Target("db.test")])
        configuration.internetCheck = InternetCheckPolicy(urls: urls)
        let fixture = MonitorFixture(
            self.hosts.here, configuration, web: self.web,
            tune: { $0.suspended = { .seconds(slept.load(ordering: .acquiring)) } })
        _ = await fixture.status { $0.verdict(.ipv4).level == .online }
        let (asked, names) = (self.web.questions.count, fixture.resolver.questions.count)
        let before = fixture.resolver.invalidations
        slept.store(3600, ordering: .releasing)
        _ = await fixture.monitor.evaluateNow()
        #expect(await eventually { fixture.resolver.questions.count > names })
        #expect(fixture.resolver.invalidations > before)
        #expect(await eventually { self.web.questions.count > asked }, "within a second or two, not in five minutes")
    }

    @Test("Losing the path drops the level at once, and regaining it starts a check")
    func loss() async throws {
        let fixture = try self.fixture()
        _ = await fixture.status { $0.verdict(.ipv4).level == .online }
        let asked = self.web.questions.count
        try self.hosts.here.ip("route del default")
        let lost = await fixture.status { $0.verdict(.ipv4).level < .routed }
        #expect(lost.verdict(.ipv4).level == .local && lost.verdict(.ipv4).reason == .noRoute)
        #expect(lost.verdict(.ipv6).level == .online, "the other family goes on")
        try self.hosts.here.ip("route add default via 10.0.0.1")
        let back = await fixture.status { $0.verdict(.ipv4).level == .online }
        #expect(back.verdict(.ipv4).level == .online)
        #expect(self.web.questions.count > asked)
    }

    @Test("Another gateway is checked before it counts as online")
    func moved() async throws {
        try self.hosts.there.ip("addr add 10.0.0.9/24 dev p0")
        let fixture = try self.fixture()
        _ = await fixture.status { $0.verdict(.ipv4).level == .online }
        self.web.say { _ in HTTPCheck.Result(reached: nil, failure: .timedOut) }
        try self.hosts.here.ip("route replace default via 10.0.0.9")
        let status = await fixture.status { $0.verdict(.ipv4).level == .limited }
        #expect(
            status.verdict(.ipv4).level == .limited && status.verdict(.ipv4).path?.gateway?.description == "10.0.0.9")
    }

    @Test("Without a configuration nothing is checked")
    func silent() async throws {
        let fixture = MonitorFixture(self.hosts.here, web: self.web)
        _ = await fixture.first()
        #expect(await fixture.status { $0.global.level == .routed }.global.level == .routed)
        #expect(self.web.questions.isEmpty)
    }
}

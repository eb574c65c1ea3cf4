internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Addresses that are checked, refused, deprecated or private.
@Suite(.serialized, .enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
struct AddressLifeScenarioTests {
    @Test("An address that another host has does not count, and is called a duplicate")
    func duplicate() async throws {
        let world = try World(isConfigured: false)
        try world.there.ip("addr add 2001:db8::99/64 dev p0 nodad")
        try world.here.batch("link set v0 up\nroute add default via 2001:db8::1 dev v0 onlink")
        let watcher = Watcher(world.here)
        _ = await watcher.first()
        try world.here.ip("addr add 2001:db8::99/64 dev v0")
        let status = await watcher.status(within: .seconds(10)) { $0.verdict(.ipv6).reason == .dadFailed }
        #expect(status.verdict(.ipv6).level < .routed && status.verdict(.ipv6).reason == .dadFailed)
        #expect(watcher.changes(.family(.ipv6)).allSatisfy { $0.to.level < .routed }, "not for a moment")
    }

    @Test("A deprecated address announced again and again is no news")
    func deprecatedAgain() async throws {
        let world = try World(isConfigured: false)
        try world.here.batch(
            """
            link set v0 up
            addr add 2001:db8::2/64 dev v0 nodad valid_lft 900 preferred_lft 0
            route add default via 2001:db8::1
            """)
        let watcher = Watcher(world.here)
        let status = await watcher.status { $0.verdict(.ipv6).level == .routed }
        #expect(status.verdict(.ipv6).notes == [.deprecatedOnly])
        // The link's own address is being checked for a second or two, which is news of its own.
        let settled = await watcher.status { $0.links.contains { $0.name == "v0" && $0.reason == nil } }
        #expect(settled.verdict(.ipv6).level == .routed)
        let (told, heard) = (watcher.changesAndLinks, watcher.heard(.newaddr))
        for _ in 0..<3 {
            try world.here.run(
                ["ip", "-6", "addr", "change", "2001:db8::2/64", "dev", "v0", "valid_lft", "900", "preferred_lft", "0"])
        }
        #expect(await eventually { watcher.heard(.newaddr) >= heard + 3 })
        _ = await watcher.monitor.lookAgain()
        #expect(watcher.changesAndLinks == told)
    }

    @Test("A unique local source is routed with its note, and never taken for the internet")
    func uniqueLocal() async throws {
        let world = try World(isConfigured: false)
        try world.here.batch(
            "link set v0 up\naddr add fd00:1::2/64 dev v0 nodad\nroute add default via fd00:1::1 dev v0")
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("fd00:1::9"), try Target("2001:db8:77::1")]
        let status = await Watcher(world.here, configuration).status { $0.verdict(.ipv6).level == .routed }
        #expect(status.verdict(.ipv6).level == .routed, "routed, and not more")
        #expect(status.verdict(.ipv6).notes == [.uniqueLocalSource])
        #expect(status.verdict("fd00:1::9")?.notes == [], "among its own kind it is an address like any other")
        #expect(status.verdict("2001:db8:77::1")?.notes == [.uniqueLocalSource])
    }

    @Test("An address that lives for seconds is a path for seconds, and its default goes silently")
    func shortLife() async throws {
        let world = try World(isConfigured: false)
        try world.here.ip("link set v0 up")
        let watcher = Watcher(world.here)
        #expect(await watcher.first().verdict(.ipv4).level == .none)
        try world.here.batch(
            "addr add 10.0.0.2/24 dev v0 valid_lft 3 preferred_lft 1\nroute add default via 10.0.0.1")
        let levels = { watcher.changes(.family(.ipv4)).map(\.to.level) }
        #expect(await eventually(within: .seconds(8)) { levels() == [.routed, .none] }, "\(levels())")
        #expect(watcher.monitor.status().verdict(.ipv4).reason == .noAddress)
    }

    @Test("Waiting for a route says what each family lacks")
    func waiting() async throws {
        let world = try World(isConfigured: false)
        try world.here.batch("link set v0 up\naddr add 10.0.0.2/24 dev v0")
        try world.here.sysctl("net.ipv6.conf.v0.disable_ipv6=1")
        let watcher = Watcher(world.here)
        let status = await watcher.status { $0.verdict(.ipv6).reason == .noAddress && $0.links.count == 2 }
        let condition = try WaitCondition("route")
        let words = "default route missing (v4), no address (v6)"
        #expect(condition.evaluate(status) == .unsatisfied(.route, .noRoute, sentence: words))
        try world.here.ip("route add default via 10.0.0.1")
        let routed = await watcher.status { $0.verdict(.ipv4).level == .routed }
        #expect(condition.evaluate(routed) == .satisfied)
    }
}

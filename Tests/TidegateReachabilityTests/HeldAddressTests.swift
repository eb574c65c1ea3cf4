internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// A connection survives a pulled cable for as long as its address stays; tasks depend on that.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct HeldAddressTests {
    @Test("An address is held without carrier, and no longer once it is removed")
    func pulledCable() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.status { $0.global.level == .routed }
        let mine = try address("10.0.0.2")
        #expect(fixture.monitor.holdsAddress(mine))
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .noCarrier)
        #expect(fixture.monitor.holdsAddress(mine))
        try hosts.here.ip("addr del 10.0.0.2/24 dev v0")
        #expect(await eventually { !fixture.monitor.holdsAddress(mine) })
    }

    @Test("This host's own addresses are held whatever the links do")
    func loopback() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        #expect(fixture.monitor.holdsAddress(try address("127.0.0.1")))
        #expect(fixture.monitor.holdsAddress(try address("::1")))
        #expect(!fixture.monitor.holdsAddress(try address("10.0.0.99")))
    }
}

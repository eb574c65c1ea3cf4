internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Properties of links as a real kernel reports them.
@Suite(
    .serialized, .enabled(if: NetlinkFixture.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct LinkPropertyTests {
    @Test("Alternative names are added and removed")
    func alternativeNames() async throws {
        let veth = try VethPairFixture()
        let netlink = try NetlinkFixture(veth.here)
        #expect(await netlink.becomes { $0.tables.link(77)?.alternativeNames == [] })
        try veth.here.ip("link property add dev v0 altname uplink altname enp1s0")
        #expect(await netlink.becomes { $0.tables.link(77)?.alternativeNames.sorted() == ["enp1s0", "uplink"] })
        try veth.here.ip("link property del dev v0 altname uplink")
        #expect(await netlink.becomes { $0.tables.link(77)?.alternativeNames == ["enp1s0"] })
        let second = try NetlinkFixture(veth.here)
        #expect(
            await second.becomes { $0.tables.link(77)?.alternativeNames == ["enp1s0"] }, "dumps contain them as well")
    }

    @Test("A macvlan has its lower link, and is down with it")
    func underlay() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch("link add m0 index 90 link v0 type macvlan\nlink set m0 up")
        let netlink = try NetlinkFixture(veth.here)
        #expect(await netlink.becomes { $0.tables.link(90)?.lower == 77 && $0.tables.link(90)?.kind == .virtual })
        #expect(await netlink.run { $0.tables.link(77)?.lower } == .some(nil), "the peer is in another namespace")
        try veth.there.ip("link set p0 down")
        #expect(await netlink.becomes { $0.tables.link(90)?.operState == .lowerLayerDown })
    }

    @Test("A tap is a tunnel with neighbours, a tun is one without")
    func taps() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch("tuntap add tap9 mode tap\ntuntap add tun9 mode tun\nlink set tap9 up\nlink set tun9 up")
        let netlink = try NetlinkFixture(veth.here)
        #expect(await netlink.becomes { $0.tables.links.values.contains { $0.name == "tap9" } })
        let links = try #require(await netlink.run { Array($0.tables.links.values) })
        let frameLink = try #require(links.first { $0.name == "tap9" })
        let packetLink = try #require(links.first { $0.name == "tun9" })
        #expect(frameLink.kind == .tunnel && frameLink.hasNeighbours)
        #expect(packetLink.kind == .tunnel && !packetLink.hasNeighbours)
        #expect(!frameLink.hasCarrier && !packetLink.hasCarrier, "no program holds them")
    }
}

internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// What a real kernel says about links beyond their state.
@Suite(
    .serialized, .enabled(if: KernelProbe.isPossible, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct LinkPropertyTests {
    @Test("Other names come and go with the link's own")
    func alternativeNames() async throws {
        let world = try KernelWorld()
        let probe = try KernelProbe(world.here)
        #expect(await probe.holds { $0.tables.link(77)?.alternativeNames == [] })
        try world.here.ip("link property add dev v0 altname uplink altname enp1s0")
        #expect(await probe.holds { $0.tables.link(77)?.alternativeNames.sorted() == ["enp1s0", "uplink"] })
        try world.here.ip("link property del dev v0 altname uplink")
        #expect(await probe.holds { $0.tables.link(77)?.alternativeNames == ["enp1s0"] })
        let fresh = try KernelProbe(world.here)
        #expect(await fresh.holds { $0.tables.link(77)?.alternativeNames == ["enp1s0"] }, "dumped as well")
    }

    @Test("A macvlan knows what it runs on, and is down with it")
    func underlay() async throws {
        let world = try KernelWorld()
        try world.here.batch("link add m0 index 90 link v0 type macvlan\nlink set m0 up")
        let probe = try KernelProbe(world.here)
        #expect(await probe.holds { $0.tables.link(90)?.lower == 77 && $0.tables.link(90)?.kind == .virtual })
        #expect(await probe.ask { $0.tables.link(77)?.lower } == .some(nil), "the peer is in another namespace")
        try world.there.ip("link set p0 down")
        #expect(await probe.holds { $0.tables.link(90)?.operState == .lowerLayerDown })
    }

    @Test("A tap is a tunnel with neighbours, a tun one without")
    func taps() async throws {
        let world = try KernelWorld()
        try world.here.batch("tuntap add tap9 mode tap\ntuntap add tun9 mode tun\nlink set tap9 up\nlink set tun9 up")
        let probe = try KernelProbe(world.here)
        #expect(await probe.holds { $0.tables.links.values.contains { $0.name == "tap9" } })
        let links = try #require(await probe.ask { Array($0.tables.links.values) })
        let tap = try #require(links.first { $0.name == "tap9" })
        let tun = try #require(links.first { $0.name == "tun9" })
        #expect(tap.kind == .tunnel && tap.hasNeighbours)
        #expect(tun.kind == .tunnel && !tun.hasNeighbours)
        #expect(!tap.hasCarrier && !tun.hasCarrier, "nobody holds them")
    }
}

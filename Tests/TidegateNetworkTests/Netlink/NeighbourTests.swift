internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Entries of the neighbour tables, and their changes.
@Suite(
    .serialized, .enabled(if: NetlinkFixture.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct NeighbourTests {
    /// A fixture whose link is already up: entries from before its carrier are dropped with it.
    private func fixture(
        _ veth: VethPairFixture, configure: (inout NetlinkOptions) -> Void = { _ in }
    ) async throws -> NetlinkFixture {
        let netlink = try NetlinkFixture(veth.here, configure: configure)
        let isUp = await netlink.becomes { $0.tables.link(77)?.operState == .up }
        #expect(isUp)
        return netlink
    }

    private func key(_ text: String) throws -> NeighbourKey {
        NeighbourKey(try #require(IPAddress(text)), on: 77)
    }

    @Test("An entry is read with its state and address, and a missing one is nil")
    func reading() async throws {
        let veth = try VethPairFixture()
        let netlink = try await self.fixture(veth)
        try veth.here.batch(
            """
            neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent
            neigh add 10.0.0.9 dev v0 nud failed
            neigh add 2001:db8::1 dev v0 lladdr 02:00:00:00:00:0a nud stale
            """)
        let gateway = try self.key("10.0.0.1").address
        let entry = await netlink.run { $0.neighbour(of: gateway, on: 77) }
        var expected = KernelNeighbour(
            address: gateway, link: 77, state: .permanent, linkLayerAddress: "02:00:00:00:00:01")
        expected.confirmedAge = try #require(entry??.confirmedAge)
        #expect(entry == expected)
        #expect(expected.confirmedAge.map { $0 < .seconds(60) } == true, "it was added just now")
        let six = try self.key("2001:db8::1").address
        #expect(await netlink.run { $0.neighbour(of: six, on: 77) }??.state == .stale)
        let failed = try self.key("10.0.0.9").address
        #expect(await netlink.run { $0.neighbour(of: failed, on: 77) }??.state == .failed)
        let missing = try self.key("10.0.0.77").address
        #expect(await netlink.run { $0.neighbour(of: missing, on: 77) } == .some(nil))
        #expect(await netlink.run { $0.neighbour(of: gateway, on: 4711) } == .some(nil))
        #expect(await netlink.run { $0.state } == .connected(.event), "a missing entry is no error")
    }

    @Test("Only watched entries are reported, each change once, and only while they are watched")
    func watching() async throws {
        let veth = try VethPairFixture()
        let netlink = try await self.fixture(veth)
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud reachable")
        let keys: Set = [try self.key("10.0.0.1"), try self.key("2001:db8::1")]
        _ = await netlink.run { $0.watchNeighbours(keys) }
        try veth.here.batch(
            """
            neigh add 10.0.0.50 dev v0 lladdr 02:00:00:00:00:50 nud reachable
            neigh replace 10.0.0.1 dev v0 lladdr 02:00:00:00:00:02 nud permanent
            neigh add 2001:db8::1 dev v0 lladdr 02:00:00:00:00:03 nud permanent
            neigh add 2001:db8:ffff::1 dev v0 lladdr 02:00:00:00:00:04 nud permanent
            neigh del 10.0.0.1 dev v0
            """)
        #expect(await netlink.records { $0.neighbours.contains { $0.state == .none } })
        #expect(await netlink.records { $0.neighbours.contains { $0.address.family == .ipv6 } })
        let reported = netlink.recorder.neighbours
        #expect(reported.allSatisfy { keys.contains($0.key) })
        #expect(reported.contains { $0.linkLayerAddress == "02:00:00:00:00:02" && $0.state == .permanent })
        let read = netlink.recorder.events.reduce(0) { sum, event in
            guard case .received(.newneigh, let count) = event else { return sum }
            return sum + count
        }
        // The last word of 2001:db8:ffff::1 is that of a watched address; the filter drops 10.0.0.50.
        #expect((3...4).contains(read))
        _ = await netlink.run { $0.watchNeighbours([]) }
        let before = netlink.recorder.neighbours.count
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:09 nud permanent")
        try veth.here.ip("link set v0 mtu 1400")
        #expect(await netlink.records { $0.changes.last?.isDirty ?? false })
        #expect(netlink.recorder.neighbours.count == before)
    }

    @Test("Forwarding entries of bridges do not wake the thread while a gateway is watched")
    func bridges() async throws {
        let veth = try VethPairFixture()
        let read = Mutex<[UInt8]>([])
        let netlink = try await self.fixture(veth) { options in
            options.edit = { kind, bytes in
                // The family of struct ndmsg follows the header.
                if kind == .neighbours, bytes.count > 16 { read.withLock { $0.append(bytes[16]) } }
                return bytes
            }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await netlink.run { $0.watchNeighbours([gateway]) }
        try veth.here.batch("link add br0 type bridge\nlink set v1 master br0\nlink set br0 up")
        for number in 10..<30 {
            try veth.here.run(["bridge", "fdb", "add", "02:00:00:00:01:\(number)", "dev", "v1", "master", "static"])
        }
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await netlink.records { $0.neighbours.map(\.state) == [.permanent] })
        // AF_INET, and not AF_BRIDGE.
        #expect(Set(read.withLock { $0 }) == [2])
    }

    @Test("A socket that fails while neighbours are read is reported at once")
    func failedSocket() async throws {
        let veth = try VethPairFixture()
        let descriptor = Atomic<Int32>(-1)
        let netlink = try await self.fixture(veth) { options in
            options.datagramLimit = { $0 == .neighbours ? 16 : .max }
            options.onOpen = { if $0 == .query { descriptor.store($1, ordering: .releasing) } }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await netlink.run { $0.watchNeighbours([gateway]) }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(null, descriptor.load(ordering: .acquiring))
        close(null)
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(
            await netlink.records { recorder in
                recorder.changes.contains { changes in
                    let isLost = changes.events.contains { if case .lost = $0 { true } else { false } }
                    return isLost && changes.isStateChanged
                }
            })
    }

    @Test("Watching other entries replaces the filter")
    func anotherWatch() async throws {
        let veth = try VethPairFixture()
        let netlink = try await self.fixture(veth)
        let (one, two) = (try self.key("10.0.0.1"), try self.key("10.0.0.3"))
        _ = await netlink.run { $0.watchNeighbours([one]) }
        _ = await netlink.run { $0.watchNeighbours([two]) }
        try veth.here.batch(
            """
            neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent
            neigh add 10.0.0.3 dev v0 lladdr 02:00:00:00:00:03 nud permanent
            """)
        #expect(await netlink.records { !$0.neighbours.isEmpty })
        #expect(netlink.recorder.neighbours.map(\.key) == [two])
    }

    @Test("If a sandbox refuses the multicast group, entries are polled")
    func refused() async throws {
        let veth = try VethPairFixture()
        let netlink = try await self.fixture(veth) { options in
            options.refusal = { $0 == .neighbours ? NetlinkError(operation: "joining", errno: 1) : nil }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await netlink.run { $0.watchNeighbours([gateway]) }
        #expect(await netlink.run { $0.state } == .connected(.event))
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await netlink.records { $0.neighbours.map(\.state) == [.permanent] })
    }

    @Test("An overrun of the neighbour socket leaves the tables consistent, and the watched entries are read again")
    func overrun() async throws {
        let veth = try VethPairFixture()
        let netlink = try await self.fixture(veth) { options in
            options.datagramLimit = { $0 == .neighbours ? 16 : .max }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await netlink.run { $0.watchNeighbours([gateway]) }
        try veth.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await netlink.records { $0.neighbours.map(\.state) == [.permanent] })
        #expect(await netlink.run { $0.health.isConsistent } == true)
        #expect(await netlink.run { $0.health.overruns > 0 } == true)
    }
}

extension NetlinkClient {
    /// The kernel's entry for an address on a link; nil without one.
    fileprivate func neighbour(of address: IPAddress, on link: UInt32) -> KernelNeighbour? {
        self.withQuery { query throws(NetlinkError) in try query.knownNeighbour(NeighbourKey(address, on: link)) }
            ?? nil
    }
}

internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// What the link knows of a gateway, and when that changes.
@Suite(
    .serialized, .enabled(if: KernelProbe.isPossible, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct NeighbourTests {
    /// A probe in a world whose link is up for good: what comes before its carrier is forgotten with it.
    private func probe(
        _ world: KernelWorld, tune: (inout NetlinkOptions) -> Void = { _ in }
    ) async throws -> KernelProbe {
        let probe = try KernelProbe(world.here, tune: tune)
        let isUp = await probe.holds { $0.tables.link(77)?.operState == .up }
        #expect(isUp)
        return probe
    }

    private func key(_ text: String) throws -> NeighbourKey {
        NeighbourKey(try #require(IPAddress(text)), on: 77)
    }

    @Test("An entry is read with its state and address; where there is none, there is none")
    func reading() async throws {
        let world = try KernelWorld()
        let probe = try await self.probe(world)
        try world.here.batch(
            """
            neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent
            neigh add 10.0.0.9 dev v0 nud failed
            neigh add 2001:db8::1 dev v0 lladdr 02:00:00:00:00:0a nud stale
            """)
        let gateway = try self.key("10.0.0.1").address
        let entry = await probe.ask { $0.neighbour(of: gateway, on: 77) }
        #expect(entry == KernelNeighbour(gateway, on: 77, .permanent, linkLayerAddress: "02:00:00:00:00:01"))
        let six = try self.key("2001:db8::1").address
        #expect(await probe.ask { $0.neighbour(of: six, on: 77) }??.state == .stale)
        let failed = try self.key("10.0.0.9").address
        #expect(await probe.ask { $0.neighbour(of: failed, on: 77) }??.state == .failed)
        let nobody = try self.key("10.0.0.77").address
        #expect(await probe.ask { $0.neighbour(of: nobody, on: 77) } == .some(nil))
        #expect(await probe.ask { $0.neighbour(of: gateway, on: 4711) } == .some(nil))
        #expect(await probe.ask { $0.state } == .connected(.event), "a missing entry is no failure")
    }

    @Test("Only watched entries are heard of, each change once, and only while they are watched")
    func watching() async throws {
        let world = try KernelWorld()
        let probe = try await self.probe(world)
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud reachable")
        let keys: Set = [try self.key("10.0.0.1"), try self.key("2001:db8::1")]
        _ = await probe.ask { $0.watchNeighbours(keys) }
        try world.here.batch(
            """
            neigh add 10.0.0.50 dev v0 lladdr 02:00:00:00:00:50 nud reachable
            neigh replace 10.0.0.1 dev v0 lladdr 02:00:00:00:00:02 nud permanent
            neigh add 2001:db8::1 dev v0 lladdr 02:00:00:00:00:03 nud permanent
            neigh add 2001:db8:ffff::1 dev v0 lladdr 02:00:00:00:00:04 nud permanent
            neigh del 10.0.0.1 dev v0
            """)
        #expect(await probe.hears { $0.neighbours.contains { $0.state == .none } })
        #expect(await probe.hears { $0.neighbours.contains { $0.address.family == .ipv6 } })
        let heard = probe.heard.neighbours
        #expect(heard.allSatisfy { keys.contains($0.key) })
        #expect(heard.contains { $0.linkLayerAddress == "02:00:00:00:00:02" && $0.state == .permanent })
        let read = probe.heard.events.reduce(0) { sum, event in
            guard case .received(.newneigh, let count) = event else { return sum }
            return sum + count
        }
        // The last word of 2001:db8:ffff::1 is that of a watched address; 10.0.0.50 never gets past the filter.
        #expect(read <= 4)
        _ = await probe.ask { $0.watchNeighbours([]) }
        let before = probe.heard.neighbours.count
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:09 nud permanent")
        try world.here.ip("link set v0 mtu 1400")
        #expect(await probe.hears { $0.news.last?.isDirty ?? false })
        #expect(probe.heard.neighbours.count == before)
    }

    @Test("What bridges learn wakes nobody who watches a gateway")
    func bridges() async throws {
        let world = try KernelWorld()
        let read = Mutex<[UInt8]>([])
        let probe = try await self.probe(world) { options in
            options.edit = { purpose, bytes in
                // The family of struct ndmsg follows the header.
                if purpose == .neighbours, bytes.count > 16 { read.withLock { $0.append(bytes[16]) } }
                return bytes
            }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await probe.ask { $0.watchNeighbours([gateway]) }
        try world.here.batch("link add br0 type bridge\nlink set v1 master br0\nlink set br0 up")
        for number in 10..<30 {
            try world.here.run(["bridge", "fdb", "add", "02:00:00:00:01:\(number)", "dev", "v1", "master", "static"])
        }
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await probe.hears { $0.neighbours.map(\.state) == [.permanent] })
        #expect(read.withLock { $0 }.allSatisfy { $0 == 2 })
    }

    @Test("A socket that dies while neighbours are asked for is told of at once")
    func blind() async throws {
        let world = try KernelWorld()
        let descriptor = Atomic<Int32>(-1)
        let probe = try await self.probe(world) { options in
            options.datagramLimit = { $0 == .neighbours ? 16 : .max }
            options.onOpen = { if $0 == .query { descriptor.store($1, ordering: .releasing) } }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await probe.ask { $0.watchNeighbours([gateway]) }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(null, descriptor.load(ordering: .acquiring))
        close(null)
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(
            await probe.hears { heard in
                heard.news.contains { news in
                    let isLost = news.events.contains { if case .lost = $0 { true } else { false } }
                    return isLost && news.isStateChanged
                }
            })
    }

    @Test("A changed watch changes the filter")
    func anotherWatch() async throws {
        let world = try KernelWorld()
        let probe = try await self.probe(world)
        let (one, two) = (try self.key("10.0.0.1"), try self.key("10.0.0.3"))
        _ = await probe.ask { $0.watchNeighbours([one]) }
        _ = await probe.ask { $0.watchNeighbours([two]) }
        try world.here.batch(
            """
            neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent
            neigh add 10.0.0.3 dev v0 lladdr 02:00:00:00:00:03 nud permanent
            """)
        #expect(await probe.hears { !$0.neighbours.isEmpty })
        #expect(probe.heard.neighbours.map(\.key) == [two])
    }

    @Test("A sandbox that refuses the group is tolerated: entries are asked for now and then")
    func refused() async throws {
        let world = try KernelWorld()
        let probe = try await self.probe(world) { options in
            options.refusal = { $0 == .neighbours ? NetlinkError(operation: "joining", errno: 1) : nil }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await probe.ask { $0.watchNeighbours([gateway]) }
        #expect(await probe.ask { $0.state } == .connected(.event))
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await probe.hears(within: .seconds(8)) { $0.neighbours.map(\.state) == [.permanent] })
    }

    @Test("A flood that overruns the neighbours' socket costs nothing else, and what was missed is asked for")
    func overrun() async throws {
        let world = try KernelWorld()
        let probe = try await self.probe(world) { options in
            options.datagramLimit = { $0 == .neighbours ? 16 : .max }
        }
        let gateway = try self.key("10.0.0.1")
        _ = await probe.ask { $0.watchNeighbours([gateway]) }
        try world.here.ip("neigh add 10.0.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")
        #expect(await probe.hears { $0.neighbours.map(\.state) == [.permanent] })
        #expect(await probe.ask { $0.health.isConsistent } == true)
        #expect(await probe.ask { $0.health.overruns > 0 } == true)
    }
}

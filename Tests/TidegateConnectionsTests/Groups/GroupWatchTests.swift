import Testing
import TidegateCore

@testable import TidegateConnections

/// Which events stalls make, and whose failure they are said to be.
struct GroupWatchTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)

    /// Remotes, their routes and their groups, at one moment.
    private final class World {
        var remotes = RemoteTable()
        var routes = RouteCache()
        var groups = GroupWatch()
        var now = GroupWatchTests.start

        /// A list shows a connection to a remote, which answered so many seconds ago and may hang.
        func show(_ remote: Remote, answered: Double?, stalled kind: ConnectionStall? = nil) {
            let age = Duration.seconds(answered ?? 3)
            let finding = kind.map { StallFinding(kind: $0, age: age, retransmits: 3, nextTry: .seconds(4)) }
            let now = self.now
            self.remotes.update(remote, at: now) { entry in
                entry.add(.established, finding, owner: nil, at: now)
                if let answered { entry.answer(.seconds(answered), roundTrip: nil, at: now) }
            }
            _ = self.remotes.endList(isEstablished: true, at: now)
            if let finding { self.groups.addStall(finding, of: remote) }
        }

        func route(
            _ remote: Remote,
            _ verdict: Verdict = Verdict(
                level: .routed, path: NetworkPath(interface: "v0", index: 77, gateway: GroupWatchTests.gateway))
        ) {
            _ = self.routes.needsLookUp(remote.address, at: self.now)
            self.routes.set(AddressRoute(verdict: verdict, link: "v0"), for: remote.address)
        }

        func recovered(_ remote: Remote) -> Bool { self.groups.removeStalls(of: remote) }

        func stall(_ remote: Remote) {
            self.groups.addStall(
                StallFinding(kind: .unanswered, age: .seconds(3), retransmits: 3, nextTry: .seconds(4)), of: remote)
        }

        func assess() -> (parties: [Remote: FaultParty], events: [ConnectionEvent]) {
            let assessment = self.groups.assess(self.remotes, self.routes, at: self.now)
            let events = assessment.effects.compactMap { effect in
                if case .publish(let event) = effect { event } else { nil }
            }
            return (assessment.parties, events)
        }
    }

    private static func remote(_ address: String, port: UInt16 = 443) throws -> Remote {
        Remote(try #require(IPAddress(address)), port: port, .outgoing)
    }

    private static func stall(
        _ remote: Remote, _ kind: ConnectionStall, age: Double, _ party: FaultParty
    ) -> ConnectionEvent {
        .stalled(
            ConnectionEvent.Stall(
                remote, kind, age: .seconds(age), retransmits: 3, nextTry: .seconds(4), party: party))
    }

    @Test("Two silent hosts of the same link have no provider between them")
    func onLink() throws {
        let world = World()
        let remotes = [try Self.remote("10.0.0.5"), try Self.remote("10.0.0.6")]
        for remote in remotes {
            world.show(remote, answered: nil, stalled: .unanswered)
            world.route(remote, Verdict(level: .routed, path: NetworkPath(interface: "v0", index: 77)))
        }
        let (parties, events) = world.assess()
        #expect(parties == Dictionary(uniqueKeysWithValues: remotes.map { ($0, .unknown) }))
        #expect(!events.contains { if case .groupSilent = $0 { true } else { false } })
    }

    @Test("A stall is reported once, with its party, and only when its route is known")
    func once() throws {
        let world = World()
        let (silent, answering) = (try Self.remote("192.0.2.1"), try Self.remote("203.0.113.1"))
        world.show(silent, answered: 3, stalled: .unanswered)
        world.show(answering, answered: 0.1)
        let early = world.assess().events
        #expect(early.isEmpty)
        #expect(world.groups.hasUnreported)
        world.route(silent)
        world.route(answering)
        let found = world.assess()
        #expect(found.events == [Self.stall(silent, .unanswered, age: 3, .theirs)])
        #expect(found.parties == [silent: .theirs])
        #expect(!world.groups.hasUnreported)
        world.stall(silent)
        #expect(world.assess().events.isEmpty)
        #expect(!world.groups.isIdle)
    }

    @Test("A recovery is reported only for a reported stall")
    func recovery() throws {
        let world = World()
        let silent = try Self.remote("192.0.2.1")
        world.show(silent, answered: 3, stalled: .unanswered)
        #expect(!world.recovered(silent))
        world.stall(silent)
        world.route(silent)
        #expect(world.assess().events.count == 1)
        #expect(world.recovered(silent))
        #expect(!world.recovered(silent))
        #expect(world.groups.isIdle)
    }

    @Test("A remote that is forgotten hangs no more")
    func forgotten() throws {
        let world = World()
        let (reported, waiting) = (try Self.remote("192.0.2.1"), try Self.remote("192.0.2.2"))
        for remote in [reported, waiting] { world.show(remote, answered: 3, stalled: .unanswered) }
        world.route(reported)
        let isReported = !world.assess().events.isEmpty
        #expect(isReported && world.groups.hasUnreported)
        world.remotes = RemoteTable()
        let found = world.assess()
        #expect(found.events.isEmpty && found.parties.isEmpty)
        #expect(world.groups.isIdle)
    }

    @Test("A single remote that hangs has no known party")
    func alone() throws {
        let world = World()
        let silent = try Self.remote("192.0.2.1")
        world.show(silent, answered: 3, stalled: .unanswered)
        world.route(silent)
        let found = world.assess()
        #expect(found.events == [Self.stall(silent, .unanswered, age: 3, .unknown)])
    }

    @Test("A group that goes silent is reported once, and again after it has answered")
    func silence() throws {
        let world = World()
        let remotes = [try Self.remote("192.0.2.1"), try Self.remote("203.0.113.1")]
        for remote in remotes {
            world.show(remote, answered: 3, stalled: .unanswered)
            world.route(remote)
        }
        let silent = ConnectionEvent.groupSilent(gateway: Self.gateway, interface: "v0", remotes: 2)
        let found = world.assess()
        #expect(found.events.count { $0 == silent } == 1)
        #expect(found.parties == [remotes[0]: .upstream, remotes[1]: .upstream])
        #expect(world.groups.isSilent(NextHop(gateway: Self.gateway, interface: "v0")))
        #expect(world.assess().events.isEmpty)
        for remote in remotes {
            let now = world.now
            world.remotes.update(remote, at: now) { entry in
                entry.beginList(of: [.connecting, .established])
                _ = entry.endList(isEstablished: true, at: now)
            }
            #expect(world.recovered(remote))
        }
        #expect(world.assess().events.isEmpty)
        #expect(world.groups.isIdle)
        for remote in remotes { world.show(remote, answered: 3, stalled: .unanswered) }
        #expect(world.assess().events.contains(silent))
    }

    @Test("Remotes behind different next hops are no group")
    func nextHops() throws {
        let world = World()
        let (one, two) = (try Self.remote("192.0.2.1"), try Self.remote("203.0.113.1"))
        for remote in [one, two] { world.show(remote, answered: 3, stalled: .unanswered) }
        world.route(one)
        world.route(
            two,
            Verdict(
                level: .routed, path: NetworkPath(interface: "v0", index: 77, gateway: IPAddress(ipv4: 0x0A00_00FE))))
        let found = world.assess()
        #expect(found.parties == [one: .unknown, two: .unknown])
        #expect(!found.events.contains { if case .groupSilent = $0 { true } else { false } })
    }

    @Test("Several ports of one address are one remote of the group")
    func ports() throws {
        let world = World()
        let (one, two) = (try Self.remote("192.0.2.1", port: 80), try Self.remote("192.0.2.1", port: 443))
        for remote in [one, two] { world.show(remote, answered: 3, stalled: .unanswered) }
        world.route(one)
        let found = world.assess()
        #expect(found.parties == [one: .unknown, two: .unknown])
        #expect(!found.events.contains { if case .groupSilent = $0 { true } else { false } })
    }

    @Test("A host that answers at another port proves the way there: what hangs is the server's, and nothing is silent")
    func otherPort() throws {
        let world = World()
        let (blocked, open) = (try Self.remote("192.0.2.1", port: 81), try Self.remote("192.0.2.1", port: 443))
        let other = try Self.remote("203.0.113.1")
        for remote in [blocked, other] { world.show(remote, answered: nil, stalled: .connecting) }
        world.show(open, answered: 0.1)
        for remote in [blocked, open, other] { world.route(remote) }
        let found = world.assess()
        #expect(found.parties == [blocked: .theirs, other: .theirs])
        #expect(!found.events.contains { if case .groupSilent = $0 { true } else { false } }, "\(found.events)")
    }

    @Test("A window that is closed is its program's failure, and no silence")
    func window() throws {
        let world = World()
        let remotes = [try Self.remote("192.0.2.1"), try Self.remote("203.0.113.1")]
        for remote in remotes {
            world.show(remote, answered: 3, stalled: .window)
            world.route(remote)
        }
        let found = world.assess()
        #expect(found.parties == [remotes[0]: .theirs, remotes[1]: .theirs])
        #expect(!found.events.contains { if case .groupSilent = $0 { true } else { false } })
    }

    @Test(
        "Without a route it is the failure that the verdict names",
        arguments: [(.noCarrier, .mine), (.gatewaySilent, .gateway), (nil, .mine)]
            as [(UnreachableReason?, FaultParty)])
    func noRoute(_ reason: UnreachableReason?, _ party: FaultParty) throws {
        let world = World()
        let (silent, answering) = (try Self.remote("192.0.2.1"), try Self.remote("203.0.113.1"))
        world.show(silent, answered: 3, stalled: .unanswered)
        world.show(answering, answered: 0.1)
        world.route(silent, Verdict(level: .local, reason: reason))
        world.route(answering)
        #expect(world.assess().parties == [silent: party])
    }
}

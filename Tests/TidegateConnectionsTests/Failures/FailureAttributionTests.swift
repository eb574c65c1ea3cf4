import Testing
import TidegateCore

@testable import TidegateConnections

/// When it is decided whose failure an outcome was, and by what.
struct FailureAttributionTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let routed = FailureAttribution.Surroundings(
        verdict: Verdict(
            level: .routed, path: NetworkPath(interface: "v0", index: 77, gateway: IPAddress(ipv4: 0x0A00_0001))),
        nextHop: NextHop(gateway: IPAddress(ipv4: 0x0A00_0001), interface: "v0"))

    private static func remote(_ number: UInt32) -> Remote {
        Remote(IPAddress(ipv4: 0xC633_6400 + number), port: 443, .outgoing)
    }

    /// Failures in the order in which they come.
    private final class Failures {
        private var attribution = FailureAttribution()

        func add(
            _ remote: Remote, _ outcome: ConnectionOutcome, _ state: FailureAttribution.Surroundings,
            at now: MonotonicTime
        ) -> FailureAttribution.Decided? { self.attribution.add(remote, outcome, state, at: now) }

        func routed(_ address: IPAddress) -> [FailureAttribution.Decided] {
            self.attribution.routed(address, FailureAttributionTests.routed, at: FailureAttributionTests.start)
        }

        func isAnySilent(at address: IPAddress) -> Bool { self.attribution.isAnySilent(at: address) }

        func pathChanged(_ family: AddressFamily, at now: MonotonicTime) {
            self.attribution.pathChanged(family, at: now)
        }
    }

    @Test("Without a route a failure waits for it, and all of its address are decided then")
    func waiting() throws {
        let failures = Failures()
        let unknown = FailureAttribution.Surroundings()
        #expect(failures.add(Self.remote(1), .refused, unknown, at: Self.start) == nil)
        #expect(failures.add(Self.remote(1), .noAnswer, unknown, at: Self.start) == nil)
        #expect(failures.add(Self.remote(2), .reset, unknown, at: Self.start) == nil)
        #expect(failures.isAnySilent(at: Self.remote(1).address))
        #expect(!failures.isAnySilent(at: Self.remote(2).address))
        let decided = failures.routed(Self.remote(1).address)
        #expect(decided.map(\.outcome) == [.refused, .noAnswer])
        #expect(decided.map(\.party) == [.theirs, .unknown])
        #expect(decided.allSatisfy { $0.event != nil })
        #expect(failures.routed(Self.remote(1).address).isEmpty)
    }

    @Test("More than 4,096 failures do not wait")
    func limit() {
        let failures = Failures()
        let unknown = FailureAttribution.Surroundings()
        for _ in 0..<5000 { _ = failures.add(Self.remote(1), .refused, unknown, at: Self.start) }
        #expect(failures.routed(Self.remote(1).address).count == 4096)
        _ = failures.add(Self.remote(1), .refused, unknown, at: Self.start)
        #expect(failures.routed(Self.remote(1).address).count == 1)
    }

    @Test(
        "Failures within two seconds of a change of path are this host's",
        arguments: [(1.9, .mine), (2.0, .theirs)]
            as [(Double, FaultParty)])
    func settling(_ after: Double, _ party: FaultParty) {
        let failures = Failures()
        failures.pathChanged(.ipv4, at: Self.start)
        let decided = failures.add(Self.remote(1), .refused, Self.routed, at: Self.start + .seconds(after))
        #expect(decided?.party == party)
    }

    @Test("A change of one family's path is no reason for the other's failures")
    func settlingFamily() throws {
        let failures = Failures()
        failures.pathChanged(.ipv6, at: Self.start)
        let remotes = [Self.remote(1), Remote(try #require(IPAddress("2001:db8::1")), port: 443, .outgoing)]
        let parties = remotes.map { failures.add($0, .refused, Self.routed, at: Self.start + .seconds(1))?.party }
        #expect(parties == [.theirs, .mine])
    }

    @Test("Clients that reset their connections, remotes behind another router and those of a link are each their own")
    func separateResets() {
        let failures = Failures()
        func party(_ number: UInt32, _ direction: ConnectionDirection = .outgoing, gateway: IPAddress?) -> FaultParty? {
            let remote = Remote(Self.remote(number).address, port: 443, direction)
            var state = Self.routed
            state.nextHop = NextHop(gateway: gateway, interface: "v0")
            return failures.add(remote, .reset, state, at: Self.start)?.party
        }
        let (one, other) = (IPAddress(ipv4: 0x0A00_0001), IPAddress(ipv4: 0x0A00_0002))
        for number in 1...5 as ClosedRange<UInt32> {
            #expect(party(number, .incoming, gateway: one) == .theirs)
            #expect(party(10 + number, gateway: nil) == .theirs)
        }
        for number in 1...2 as ClosedRange<UInt32> {
            #expect(party(number, gateway: one) == .theirs)
            #expect(party(20 + number, gateway: other) == .theirs)
        }
        #expect(party(3, gateway: one) == .path)
        #expect(party(2, gateway: one) == .path, "the same once more, beside two others")
    }

    @Test("The third remote whose connections are reset within a second makes it the way there")
    func resets() {
        let failures = Failures()
        func party(_ number: UInt32, at second: Double) -> FaultParty? {
            failures.add(Self.remote(number), .reset, Self.routed, at: Self.start + .seconds(second))?.party
        }
        #expect(party(1, at: 0) == .theirs)
        #expect(party(2, at: 0.2) == .theirs)
        // The same remote again is no other one.
        #expect(party(2, at: 0.3) == .theirs)
        #expect(party(3, at: 0.9) == .path)
        // Those of a second ago count no more.
        #expect(party(4, at: 1.5) == .theirs)
    }

    @Test("A kernel whose routes are not known says nothing against this host")
    func unknown() {
        let failures = Failures()
        let unknown = FailureAttribution.Surroundings(verdict: .unknown)
        #expect(failures.add(Self.remote(1), .refused, unknown, at: Self.start)?.party == .theirs)
        #expect(failures.add(Self.remote(1), .noAnswer, unknown, at: Self.start)?.party == .unknown)
        // Whether its neighbour is the gateway is not known either.
        #expect(failures.add(Self.remote(1), .notSent, unknown, at: Self.start)?.party == .unknown)
    }

    @Test("A level below routed makes every failure this host's", arguments: [ReachabilityLevel.none, .local])
    func notRouted(_ level: ReachabilityLevel) {
        let failures = Failures()
        let down = FailureAttribution.Surroundings(verdict: Verdict(level: level))
        #expect(failures.add(Self.remote(1), .noAnswer, down, at: Self.start)?.party == .mine)
        #expect(failures.add(Self.remote(1), .notSent, down, at: Self.start)?.party == .mine)
    }
}

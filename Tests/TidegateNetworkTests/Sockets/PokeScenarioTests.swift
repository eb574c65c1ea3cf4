internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTestKit

/// Pokes between namespaces.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct PokeScenarioTests {
    private let hosts: ThreeHosts
    private let poker: UDPProbe

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.poker = try UDPProbe(onThreadStart: { hosts.here.enter() })
    }

    private func poke(_ text: String, within limit: Duration = .seconds(8)) async throws -> PokeOutcome {
        let address = try #require(IPAddress(text))
        return await withCheckedContinuation { waiter in
            self.poker.poke(address, within: limit) { waiter.resume(returning: $0) }
        }
    }

    @Test("A gateway that lives says that nobody listens", arguments: ["10.0.0.1", "2001:db8::1"])
    func alive(_ gateway: String) async throws {
        #expect(try await self.poke(gateway, within: .seconds(2)) == .answered)
    }

    @Test("A gateway that answers no ARP is unresolved, and this host itself says so", arguments: [4, 6])
    func dead(_ version: Int) async throws {
        let outcome = try await self.poke(version == 4 ? "10.0.0.99" : "2001:db8::99")
        let own = IPAddress(version == 4 ? "10.0.0.2" : "2001:db8::2")
        let (type, code): (UInt8, UInt8) = version == 4 ? (3, 1) : (1, 3)
        #expect(outcome == .unresolved(ICMPError(offender: own, type: type, code: code)))
    }

    @Test("A gateway that swallows pokes is silent")
    func silent() async throws {
        #expect(try await self.poke("10.0.0.1") == .answered)
        try ThreeHosts.filter(
            self.hosts.gateway, "table inet t { chain i { type filter hook input priority 0; udp dport 9 drop; }; }")
        #expect(try await self.poke("10.0.0.1", within: .milliseconds(200)) == .silent)
        #expect(try await self.poke("2001:db8::1", within: .milliseconds(200)) == .silent)
    }

    @Test("A router that refuses for somebody else is named")
    func refused() async throws {
        try self.hosts.gateway.ip("route add prohibit 203.0.113.0/24")
        let prohibited = ICMPError(offender: IPAddress("10.0.0.1"), type: 3, code: 13)
        #expect(try await self.poke("203.0.113.1") == .refused(prohibited))
        #expect(try await self.poke(ThreeHosts.farAddress.ipv4) == .answered, "through the gateway")
    }

    @Test("Without a route, or where a filter of this host's drops it, the poke fails at once")
    func failed() async throws {
        try self.hosts.here.ip("route del default")
        #expect(try await self.poke("198.51.100.2") == .failed(101))
        try ThreeHosts.filter(
            self.hosts.here, "table inet t { chain o { type filter hook output priority 0; udp dport 9 drop; }; }")
        #expect(try await self.poke("10.0.0.1") == .failed(1))
    }

    @Test("Whoever stops the poker is answered, and later pokes fail")
    func stopped() async throws {
        let poker = self.poker
        async let outcome = self.poke("10.0.0.99", within: .seconds(30))
        #expect(try await self.poke("10.0.0.1") == .answered)
        poker.stop()
        _ = try await outcome
        let late = try await self.poke("10.0.0.1")
        guard case .failed = late else {
            Issue.record("\(late)")
            return
        }
    }
}

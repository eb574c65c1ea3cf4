internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateTestKit

/// UDP probes between namespaces.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct UDPProbeTests {
    private let hosts: ThreeHosts
    private let prober: UDPProbe

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.prober = try UDPProbe(onThreadStart: { hosts.here.enter() })
    }

    private func probe(_ text: String, within limit: Duration = .seconds(8)) async throws -> UDPProbe.Result {
        let address = try #require(IPAddress(text))
        return await withCheckedContinuation { waiter in
            self.prober.probe(address, within: limit) { waiter.resume(returning: $0) }
        }
    }

    @Test("A live gateway answers that the port is closed", arguments: ["10.0.0.1", "2001:db8::1"])
    func alive(_ gateway: String) async throws {
        #expect(try await self.probe(gateway, within: .seconds(20)) == .answered)
    }

    @Test("A gateway that answers no ARP is unresolved, with this host as the sender of the error", arguments: [4, 6])
    func dead(_ version: Int) async throws {
        let result = try await self.probe(version == 4 ? "10.0.0.99" : "2001:db8::99")
        let own = IPAddress(version == 4 ? "10.0.0.2" : "2001:db8::2")
        let (type, code): (UInt8, UInt8) = version == 4 ? (3, 1) : (1, 3)
        #expect(result == .unresolved(ICMPError(offender: own, type: type, code: code)))
    }

    @Test("A gateway that drops probes is silent")
    func silent() async throws {
        #expect(try await self.probe("10.0.0.1") == .answered)
        try ThreeHosts.filter(
            self.hosts.gateway, "table inet t { chain i { type filter hook input priority 0; udp dport 9 drop; }; }")
        #expect(try await self.probe("10.0.0.1", within: .milliseconds(200)) == .silent)
        #expect(try await self.probe("2001:db8::1", within: .milliseconds(200)) == .silent)
    }

    @Test("A router that refuses on behalf of another host is named")
    func refused() async throws {
        try self.hosts.gateway.ip("route add prohibit 203.0.113.0/24")
        let prohibited = ICMPError(offender: IPAddress("10.0.0.1"), type: 3, code: 13)
        #expect(try await self.probe("203.0.113.1") == .refused(prohibited))
        #expect(try await self.probe(ThreeHosts.farAddress.ipv4) == .answered, "through the gateway")
    }

    @Test("Without a route, or if a filter on this host drops it, the probe fails at once")
    func failed() async throws {
        try self.hosts.here.ip("route del default")
        #expect(try await self.probe("198.51.100.2") == .failed(101))
        try ThreeHosts.filter(
            self.hosts.here, "table inet t { chain o { type filter hook output priority 0; udp dport 9 drop; }; }")
        #expect(try await self.probe("10.0.0.1") == .failed(1))
    }

    @Test("Stopping completes the probes under way as silent, and later ones fail")
    func stopped() async throws {
        // The kernel asks for the neighbour for so long that no error comes before the end.
        try self.hosts.here.sysctl("net.ipv4.neigh.v0.mcast_solicit=600")
        let prober = self.prober
        async let pending = self.probe("10.0.0.99", within: .seconds(600))
        #expect(await eventually { (try? self.hosts.here.ip("neigh get 10.0.0.99 dev v0")) != nil })
        prober.stop()
        #expect(try await pending == .silent)
        #expect(try await self.probe("10.0.0.1") == .failed(108), "ESHUTDOWN")
    }
}

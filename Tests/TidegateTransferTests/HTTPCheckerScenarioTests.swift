import Testing
import TidegateTransfer
import TidegateCore
import TidegateTestKit

/// Checks of a remote host, between namespaces.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct HTTPCheckerScenarioTests {
    private let hosts: ThreeHosts
    private let checker: TransferHTTPChecker

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.checker = TransferHTTPChecker(onThreadStart: { hosts.here.enter() })
    }

    private func ask(_ text: String, limit: Duration = .seconds(6)) async throws -> HTTPCheck.Result {
        let address = try #require(IPAddress(text))
        return await self.checker.check(
            HTTPCheck.Request(
                url: try HTTPURL("https://tide.test/"), address: address, lastStage: .connect, limit: limit))
    }

    @Test("A router that knows no route is quoted, in both versions of IP")
    func noRoute() async throws {
        let four = try await self.ask("203.0.113.1")
        #expect(four.refusal == ICMPError(offender: IPAddress("10.0.0.1"), type: 3, code: 0))
        #expect(four.text == "10.0.0.1 says: no route to 203.0.113.1 (ICMP 3/0)")
        #expect(four.local == IPAddress("10.0.0.2"))
        let six = try await self.ask("2001:db8:f::1")
        #expect(six.text == "2001:db8::1 says: no route to 2001:db8:f::1 (ICMPv6 1/0)")
    }

    @Test("A dead far host is the last router's finding")
    func deadHost() async throws {
        let answer = try await self.ask("198.51.100.99")
        #expect(answer.socketError == .hostUnreachable)
        #expect(answer.text == "10.0.0.1 says: host unreachable at 198.51.100.99 (ICMP 3/1)")
    }

    @Test("Two families of one name can be looked at in one go, each on its own address")
    func bothFamilies() async throws {
        let listener = try NetworkNamespaceListener(port: 443, in: self.hosts.far)
        async let four = self.ask(ThreeHosts.farAddress.ipv4)
        async let six = self.ask(ThreeHosts.farAddress.ipv6)
        #expect(try await four.local == IPAddress("10.0.0.2"))
        #expect(try await six.local == IPAddress("2001:db8::2"))
        #expect(try await four.reached == .connect)
        #expect(try await six.reached == .connect)
        withExtendedLifetime(listener) {}
    }

    @Test("Where packets vanish, the SYNs that were not answered are counted")
    func silence() async throws {
        try ThreeHosts.filter(
            self.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; policy drop; }; }")
        let answer = try await self.ask(ThreeHosts.farAddress.ipv4, limit: .seconds(2))
        #expect(answer.reached == nil)
        #expect(answer.failure == .timedOut)
        #expect(answer.refusal == nil)
        #expect(answer.text == "198.51.100.2 did not answer 2 SYNs")
        let brief = try await self.ask(ThreeHosts.farAddress.ipv4, limit: .milliseconds(300))
        #expect(brief.text == "198.51.100.2 did not answer 1 SYN")
    }

    @Test("Without any route this host itself says so")
    func own() async throws {
        try self.hosts.here.ip("route del default")
        let answer = try await self.ask(ThreeHosts.farAddress.ipv4)
        #expect(answer.failure == .connectFailed)
        #expect(answer.text == "this host has no route to 198.51.100.2")
    }
}

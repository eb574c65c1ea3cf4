internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTestKit

/// Connects between namespaces, with what ICMP says about them.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ConnectScenarioTests {
    private let hosts: ThreeHosts
    private let connector: Connector

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.connector = try Connector(onThreadStart: { hosts.here.enter() })
    }

    private func connect(_ text: String, within limit: Duration = .seconds(6)) async throws -> ConnectOutcome {
        let address = try #require(IPAddress(text))
        return await withCheckedContinuation { waiter in
            self.connector.connect(to: address, port: 80, within: limit) { waiter.resume(returning: $0) }
        }
    }

    private func refusal(_ offender: String, _ type: UInt8, _ code: UInt8) -> ICMPError {
        ICMPError(offender: IPAddress(offender), type: type, code: code)
    }

    @Test("A closed port is refused without ICMP, and an open one connects")
    func answered() async throws {
        #expect(try await self.connect("198.51.100.2") == .failed(.refused, refusal: nil))
        #expect(try await self.connect("2001:db8:2::2") == .failed(.refused, refusal: nil))
        let listener = try NetworkNamespaceListener(port: 80, in: self.hosts.far)
        guard case .connected = try await self.connect("198.51.100.2") else {
            Issue.record("not connected")
            return
        }
        withExtendedLifetime(listener) {}
    }

    @Test("A gateway without a route is named")
    func noRoute() async throws {
        #expect(
            try await self.connect("203.0.113.1") == .failed(.noRoute, refusal: self.refusal("10.0.0.1", 3, 0)))
        #expect(
            try await self.connect("2001:db8:f::1") == .failed(.noRoute, refusal: self.refusal("2001:db8::1", 1, 0)))
    }

    @Test("A dead neighbour is this host's own finding, and a dead far host the gateway's")
    func dead() async throws {
        async let near = self.connect("10.0.0.99")
        async let near6 = self.connect("2001:db8::99")
        async let far = self.connect("198.51.100.99")
        async let far6 = self.connect("2001:db8:2::99")
        #expect(try await near == .failed(.hostUnreachable, refusal: self.refusal("10.0.0.2", 3, 1)))
        #expect(try await near6 == .failed(.hostUnreachable, refusal: self.refusal("2001:db8::2", 1, 3)))
        #expect(try await far == .failed(.hostUnreachable, refusal: self.refusal("10.0.0.1", 3, 1)))
        #expect(try await far6 == .failed(.hostUnreachable, refusal: self.refusal("2001:db8::1", 1, 3)))
    }

    @Test("Listening for ICMP ends no connect that would have gone on without")
    func noEarlier() async throws {
        // The kernel gives up a connect at the first ICMP error, whoever listens; one that comes while connect(2) still
        // runs is only noted, and the next packet a second later finds the same.
        try self.hosts.gateway.ip("route add unreachable 203.0.113.0/28")
        try self.hosts.gateway.ip("route add prohibit 203.0.113.16/28")
        for text in ["203.0.113.1", "203.0.113.17", "203.0.113.33"] {
            let address = try #require(IPAddress(text))
            let plain = try PlainConnect(to: address, port: 80, from: self.hosts.here)
            guard case .failed(_, let refusal) = try await self.connect(text) else {
                Issue.record("\(text) connects")
                continue
            }
            #expect(refusal?.offender == IPAddress("10.0.0.1"), "\(text)")
            #expect(plain.duration < .seconds(30), "\(text)")
            #expect(plain.code == (text == "203.0.113.33" ? ENETUNREACH : EHOSTUNREACH), "\(text)")
        }
    }
}

/// A connect that asks for nothing: its error number and how long it took.
private struct PlainConnect {
    let code: Int32
    let duration: Duration

    init(to address: IPAddress, port: UInt16, from namespace: NetworkNamespace) throws {
        let code = Atomic<Int32>(0)
        let start = ContinuousClock.now
        try namespace.inside {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &name.sin_addr) { $0.copyBytes(from: address.octets) }
            let result = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            code.store(result == 0 ? 0 : errno, ordering: .relaxed)
        }
        self.duration = ContinuousClock.now - start
        self.code = code.load(ordering: .relaxed)
    }
}

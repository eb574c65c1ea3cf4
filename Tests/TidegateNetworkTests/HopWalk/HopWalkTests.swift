internal import CLinux
internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateTestKit

/// Hop walks through real kernels, by a thread without privileges.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct HopWalkTests {
    private let hosts: FourHosts
    private let walk: HopWalk

    init() throws {
        let hosts = try FourHosts()
        self.hosts = hosts
        self.walk = try HopWalk(onThreadStart: {
            hosts.here.enter()
            _ = tg_thread_become(65534)
        })
    }

    private func result(
        _ text: String, port: UInt16 = 443, maximumHops: Int = HopWalk.maximumHops, within limit: Duration = .seconds(1)
    ) async throws -> HopWalkResult {
        let address = try #require(IPAddress(text))
        return await withCheckedContinuation { waiter in
            self.walk.walk(to: address, port: port, maximumHops: maximumHops, within: limit) {
                waiter.resume(returning: $0)
            }
        }
    }

    private static let v4 = "203.0.113.10"
    private static let v6 = "2001:db8:3::10"

    private static func routers(_ destination: String) -> [String] {
        destination == Self.v4 ? ["10.0.0.1", "198.51.100.2"] : ["2001:db8::1", "2001:db8:2::2"]
    }

    @Test("Everything forwards: each router once, then the destination, whose port is closed", arguments: [v4, v6])
    func closedPort(_ destination: String) async throws {
        let result = try await self.result(destination)
        #expect(result.answers.map(\.address.description) == Self.routers(destination), "\(result)")
        #expect(result.answers.allSatisfy { $0.error.kind == .timeExceeded })
        #expect(result.hops.count == 3 && result.arrival?.hop == 3)
        #expect(result.duration < .seconds(1), "as soon as everything has answered")
    }

    @Test("An open port connects, and the connection is closed at once", arguments: [v4, v6])
    func openPort(_ destination: String) async throws {
        let listener = try NetworkNamespaceListener(port: 443, in: self.hosts.server)
        // Only TCP may show that the destination is reached.
        try ThreeHosts.filter(
            self.hosts.server, "table inet t { chain i { type filter hook input priority 0; meta l4proto udp drop; }; }"
        )
        let result = try await self.result(destination)
        #expect(result.hops.count == 3 && result.arrival?.how == .connected, "\(result)")
        let sockets = NamespaceCommand.run(["ip", "netns", "exec", self.hosts.here.name, "ss", "-Htan"])
        #expect(sockets.output == "", "no connection is left, not even one that waits for its end")
        withExtendedLifetime(listener) {}
    }

    @Test("A name server gets whole questions only, and its answer shows that it is reached")
    func nameServer() async throws {
        let script = """
            import socket, struct
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind(("0.0.0.0", 53))
            print("ready", flush=True)
            while True:
                packet, client = server.recvfrom(512)
                head, question = struct.unpack("!6H", packet[:12]), packet[12:]
                print("root" if head[1:] == (0, 1, 0, 0, 0) and question == bytes([0, 0, 1, 0, 1]) else packet, flush=True)
                server.sendto(packet[:2] + bytes([0x80, 0]) + packet[4:], client)
            """
        let server = try Program(self.hosts.server.inside(["python3", "-c", script]))
        #expect(await eventually { server.outputSoFar == "ready\n" })
        let result = try await self.result(Self.v4, port: 53)
        #expect(result.hops.count == 3 && result.isDestinationReached, "\(result)")
        #expect(await eventually { server.outputSoFar.contains("root\n") })
        #expect(Set(server.outputSoFar.split(separator: "\n")) == ["ready", "root"])
        server.signal(SIGKILL)
        _ = await server.finish()
    }

    @Test("A provider that does not forward: nothing beyond the gateway, for a second", arguments: [v4, v6])
    func deadProvider(_ destination: String) async throws {
        try ThreeHosts.filter(
            self.hosts.provider, "table inet t { chain i { type filter hook prerouting priority 0; drop; }; }")
        let result = try await self.result(destination)
        #expect(!result.isDestinationReached && result.lastAnswer?.hop == 1 && result.loop.isEmpty, "\(result)")
        #expect(result.lastAnswer?.address.description == Self.routers(destination).first)
        #expect(result.hops.count == HopWalk.maximumHops && result.hops.dropFirst().allSatisfy { $0 == .silent })
        #expect(result.duration >= .seconds(1))
    }

    @Test("A silent router in the middle does not hide the destination", arguments: [v4, v6])
    func silentHop(_ destination: String) async throws {
        try ThreeHosts.filter(
            self.hosts.provider,
            """
            table inet t { chain o { type filter hook output priority 0;
            icmp type time-exceeded drop; icmpv6 type time-exceeded drop; }; }
            """)
        let result = try await self.result(destination)
        #expect(result.hops.count == 3 && result.hops[1] == .silent && result.arrival?.hop == 3, "\(result)")
        #expect(result.duration < .seconds(1))
    }

    @Test("A routing loop shows both routers", arguments: [v4, v6])
    func loop(_ destination: String) async throws {
        let family = destination == Self.v4 ? "-4" : "-6"
        let back = destination == Self.v4 ? "198.51.100.1" : "2001:db8:2::1"
        try self.hosts.provider.ip("\(family) route add \(destination) via \(back)")
        let result = try await self.result(destination)
        // Over IPv6 the gateway answers from the interface that the packet came in by, here the provider's side.
        let loop = destination == Self.v4 ? Self.routers(Self.v4) : ["2001:db8:2::2", "2001:db8:2::1"]
        #expect(result.loop.map(\.description) == loop, "\(result)")
        #expect(result.duration < .seconds(1), "every hop limit was answered")
    }

    @Test("A gateway without a route ends the walk at once")
    func noRoute() async throws {
        try self.hosts.gateway.ip("route del 203.0.113.0/24")
        let result = try await self.result(Self.v4)
        #expect(result.hops.count == 1 && result.lastAnswer?.error.kind == .noRoute, "\(result)")
        #expect(!result.isDestinationReached && result.lastAnswer?.hop == 1 && result.duration < .seconds(1))
    }

    @Test("A filter for UDP on the way does not stop TCP, nor one for TCP UDP", arguments: ["udp", "tcp"])
    func filtered(_ transport: String) async throws {
        try ThreeHosts.filter(
            self.hosts.gateway,
            """
            table inet t { chain f { type filter hook forward priority 0;
            meta l4proto \(transport) reject with icmpx admin-prohibited; }; }
            """)
        let result = try await self.result(Self.v4)
        #expect(result.arrival?.hop == 3 && result.answers.count == 2, "\(result)")
    }

    @Test("Without a route, nothing is sent, and the error says so")
    func unsendable() async throws {
        try self.hosts.here.ip("route del default")
        let result = try await self.result(Self.v4)
        #expect(result.hops == [.failed(101)], "ENETUNREACH")
    }

    @Test("This host's own firewall is no router on the way")
    func ownFirewall() async throws {
        try ThreeHosts.filter(
            self.hosts.here,
            "table inet t { chain o { type filter hook output priority 0; ip daddr \(Self.v4) reject; }; }")
        let result = try await self.result(Self.v4)
        #expect(result.answers.isEmpty && result.failure != nil, "\(result)")
    }

    @Test("Fewer hops and less time may be asked for, more may not")
    func bounds() async throws {
        try ThreeHosts.filter(
            self.hosts.provider, "table inet t { chain i { type filter hook prerouting priority 0; drop; }; }")
        let short = try await self.result(Self.v4, maximumHops: 2, within: .milliseconds(100))
        #expect(short.hops.count == 2 && short.duration >= .milliseconds(100))
        let none = try await self.result(Self.v4, maximumHops: 0, within: .zero)
        #expect(none.hops.count == 1)
        let long = try await self.result(Self.v4, maximumHops: 100, within: .seconds(100))
        #expect(long.hops.count == HopWalk.maximumHops)
    }

    @Test("Several walks at a time do not mix, and stopping ends those under way")
    func several() async throws {
        async let one = self.result(Self.v4)
        async let two = self.result(Self.v6)
        async let three = self.result("198.51.100.2")
        let results = try await [one, two, three]
        #expect(results.map(\.hops.count) == [3, 3, 2])
        #expect(results.map(\.destination.description) == [Self.v4, Self.v6, "198.51.100.2"])
        self.walk.stop()
        #expect(try await self.result(Self.v4).hops == [.failed(108)], "ESHUTDOWN")
    }

    @Test("Forged ICMP about another packet changes nothing, about the walk's own it does")
    func forged() async throws {
        try ThreeHosts.filter(
            self.hosts.gateway,
            "table inet t { chain f { type filter hook prerouting priority 0; meta l4proto { tcp, udp } drop; }; }")
        // So few ports that every socket of the walk is met.
        try self.hosts.here.sysctl("net.ipv4.ip_local_port_range=40000 40063")
        let forger = try ICMPForger(in: self.hosts.gateway)
        let genuine = ICMPForger.Packet(source: "10.0.0.2", destination: Self.v4, port: 443, isTCP: false)
        var wrong = [genuine, genuine, genuine, genuine]
        wrong[0].port = 444
        wrong[1].destination = "203.0.113.11"
        wrong[2].source = "10.0.0.3"
        // The sequence number of a SYN cannot be guessed.
        wrong[3].isTCP = true
        // Many short walks: a socket that has no peer yet would accept some of it.
        for _ in 0..<500 {
            let result = try await self.walkMeeting(wrong, of: forger, within: .milliseconds(5))
            #expect(result.hops.allSatisfy { $0 == .silent }, "\(result)")
        }
        let result = try await self.walkMeeting([genuine], of: forger, within: .seconds(1))
        #expect(result.lastAnswer?.address.description == "10.0.0.1", "the forger is able to: \(result)")
    }

    // Walks while ICMP about each packet, from every port that the walk may use, arrives again and again.
    private func walkMeeting(
        _ packets: [ICMPForger.Packet], of forger: ICMPForger, within limit: Duration
    ) async throws -> HopWalkResult {
        let isOver = Mutex(false)
        async let result = {
            defer { isOver.withLock { $0 = true } }
            return try await self.result(Self.v4, within: limit)
        }()
        while !isOver.withLock({ $0 }) {
            for port in UInt16(40000)...40063 { for packet in packets { try forger.send(packet, from: port) } }
            try await Task.sleep(for: .milliseconds(1))
        }
        return try await result
    }
}

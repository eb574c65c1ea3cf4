internal import CLinux
internal import CNetlink
internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Lists of live sockets, and messages from another sender.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct SocketListTests {
    /// Runs a script that ends with `ready()` in a namespace, and `body` on a thread there once it is ready.
    private func beside<Value: Sendable>(
        _ script: String, in namespace: NetworkNamespace, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let program = try Program([
            "ip", "netns", "exec", namespace.name, "python3", "-u", "-c",
            SocketChannelFixture.prelude + script + "\nprint('ready')\nimport time\ntime.sleep(60)\n",
        ])
        defer { program.signal(SIGKILL) }
        let isReady = await eventually { program.outputSoFar.contains("ready") }
        try #require(isReady, "\(program.errorsSoFar)")
        return try SocketChannelFixture.inside(namespace, body)
    }

    // Connections of the machine to itself: through its own addresses, in the three forms of an address.
    private static let connections = """
        keep = []
        for address in ("10.0.0.2", "2001:db8::2", "::ffff:10.0.0.2"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.socket(family)
            listener.bind((address, 0))
            listener.listen()
            connection = socket.create_connection(listener.getsockname()[:2])
            keep += [listener, connection, listener.accept()[0]]
        keep.append(attempt("10.0.0.1"))
        """

    @Test("A list of each family shows what it holds: IPv4, IPv6, and IPv4 over IPv6 as IPv4")
    func families() async throws {
        let veth = try VethPairFixture()
        let lists = try await self.beside(Self.connections, in: veth.here) {
            let channel = try SocketDumpChannel(NetlinkOptions())
            return try AddressFamily.allCases.map { family in
                try SocketChannelFixture.list(channel, SocketDump(family, .live, asksForInfo: true))
            }
        }
        let (four, six) = (lists[0], lists[1])
        let (here, here6) = (IPAddress("10.0.0.2"), IPAddress("2001:db8::2"))
        // Both ends are sockets of this namespace; the peer of the mapped one is one of IPv6, too.
        #expect(four.map(\.remote.address) == [here, here])
        #expect(Set(six.map(\.remote.address)) == [here, here6])
        #expect(six.count { $0.remote.address == here } == 2 && six.count == 4, "\(six)")
        for report in four + six {
            #expect(report.state == .established)
            #expect(report.tcp?.shortestRoundTrip != nil)
            #expect(report.inode != 0 && report.cookie != 0)
        }
        #expect(Set((four + six).map(\.cookie)).count == 6)
    }

    @Test("A list shows the states that are asked for, and the counters only on request")
    func states() async throws {
        let veth = try SocketChannelFixture.silentPair()
        let lists = try await self.beside(Self.connections, in: veth.here) {
            let channel = try SocketDumpChannel(NetlinkOptions())
            return try [.connecting, .listeners, .live].map { states in
                try SocketChannelFixture.list(channel, SocketDump(.ipv4, states))
            }
        }
        #expect(lists[0].map(\.state) == [.synSent])
        #expect(lists[0].first?.remote == .init(address: try #require(IPAddress("10.0.0.1")), port: 9))
        #expect(lists[1].map(\.state) == [.listen])
        #expect(lists[2].map(\.state) == [.established, .established])
        #expect(lists.joined().allSatisfy { $0.tcp == nil })
    }

    @Test("A list of many datagrams is whole, and the next one on the same channel, too")
    func many() async throws {
        let veth = try SocketChannelFixture.silentPair()
        let script = """
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
            keep = [attempt("10.0.0.1", 1 + number) for number in range(2000)]
            """
        let ports = try await self.beside(script, in: veth.here) {
            let channel = try SocketDumpChannel(NetlinkOptions())
            return try (0..<2).map { _ in
                try SocketChannelFixture.list(channel, SocketDump(.ipv4, .connecting, asksForInfo: true))
                    .map(\.remote.port)
            }
        }
        for ports in ports { #expect(Set(ports) == Set(1...2000)) }
    }

    @Test("A message of another process is not the kernel's, and changes nothing")
    func foreign() async throws {
        let veth = try VethPairFixture()
        let seen = try SocketChannelFixture.inside(veth.here) {
            let ports = Mutex<[NetlinkOptions.SocketKind: UInt32]>([:])
            var options = NetlinkOptions()
            options.onOpen = { kind, descriptor in ports.withLock { $0[kind] = Self.port(of: descriptor) } }
            let endings = try SocketEndingChannel(options, includesLoopback: true)
            let lists = try SocketDumpChannel(options)
            // What a forger would say: a socket in use has ended, and the next list is empty.
            let ending = Self.message(type: 20, sequence: 0, body: [2, 7] + [UInt8](repeating: 1, count: 70))
            let done = Self.message(type: UInt16(NLMSG_DONE), sequence: 1, body: [0, 0, 0, 0])
            let targets = ports.withLock { $0 }
            let sent = [
                Self.send(ending, to: targets[.socketEndings] ?? 0), Self.send(done, to: targets[.socketDumps] ?? 0),
            ]
            try SocketChannelFixture.python("attempt('10.0.0.77').close()")
            let ended = SocketChannelFixture.read(endings, 1)
            let listener = try SocketChannelFixture.listener()
            defer { close(listener) }
            return (sent, ended, try SocketChannelFixture.list(lists, SocketDump(.ipv4, .listeners)))
        }
        #expect(seen.0 == [true, true], "they were sent")
        #expect(seen.1.map(\.remote.address) == [IPAddress("10.0.0.77")])
        #expect(seen.2.count == 1, "the list was not cut short")
    }

    private static func port(of descriptor: Int32) -> UInt32 {
        var address = sockaddr_nl()
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return address.nl_pid
    }

    private static func message(type: UInt16, sequence: UInt32, body: [UInt8]) -> [UInt8] {
        func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
        return bytes(UInt32(16 + body.count)) + bytes(type) + [0, 0] + bytes(sequence) + [0, 0, 0, 0] + body
    }

    /// Sends a datagram to the netlink socket of this process with such a port; true if it was taken.
    private static func send(_ bytes: [UInt8], to port: UInt32) -> Bool {
        let descriptor = socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), SocketEndingChannel.protocolNumber)
        defer { close(descriptor) }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_pid = port
        let length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, length) == bytes.count
            }
        }
    }
}

internal import CLinux
internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// The two channels of socket diagnostics, with a real kernel.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct SocketChannelTests {
    /// What each of two channels and a witness saw.
    private struct Seen: Sendable {
        var all = 0
        var remotes: [String] = []
        var remotesWithLoopback: [String] = []
    }

    private static let closes = """
        import time
        socket.socket().close()
        socket.socket(socket.AF_INET6).close()
        bound = socket.socket()
        bound.bind(("", 7001))
        bound.close()
        for address in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::ffff:127.9.9.9"):
            attempt(address).close()
        for address in ("10.0.0.77", "2001:db8::77", "::ffff:10.0.0.78", "2001:db8::1", "2001:db8:0:0:7f00::", "128.0.0.1"):
            attempt(address).close()
        """

    @Test("The filter passes what was used and is not loopback, in all three forms of an address")
    func filter() throws {
        let veth = try VethPairFixture()
        let seen = try SocketChannelFixture.inside(veth.here) {
            let witness = try SocketWitness.joined()
            let channel = try SocketEndingChannel(NetlinkOptions(), includesLoopback: false)
            let both = try SocketEndingChannel(NetlinkOptions(), includesLoopback: true)
            try SocketChannelFixture.python(Self.closes)
            var seen = Seen()
            // Whatever of it is filtered elsewhere: the kernel made all of them.
            seen.all = witness.wait(for: 14)
            seen.remotes = SocketChannelFixture.read(channel, 7).map(\.remote.address.description).sorted()
            seen.remotesWithLoopback = SocketChannelFixture.read(both, 12).map(\.remote.address.description).sorted()
            return seen
        }
        #expect(seen.all == 14)
        let used = [
            "0.0.0.0", "10.0.0.77", "10.0.0.78", "128.0.0.1", "2001:db8::1", "2001:db8::77", "2001:db8:0:0:7f00::",
        ]
        let addresses = try used.map { try #require(IPAddress($0)).description }
        #expect(seen.remotes == addresses.sorted())
        let loopback = ["127.0.0.1", "127.0.0.1", "127.9.9.9", "127.9.9.9", "::1"]
        #expect(seen.remotesWithLoopback == (addresses + loopback).sorted())
    }

    @Test("Messages that were read and those that were dropped are all there were, also after a second overrun")
    func drops() throws {
        let veth = try VethPairFixture()
        let counts = try SocketChannelFixture.inside(veth.here) {
            let witness = try SocketWitness.joined()
            var options = NetlinkOptions()
            options.receiveBufferBytes = 16_384
            let channel = try SocketEndingChannel(options, includesLoopback: false)
            var counts: [(read: Int, dropped: UInt32)] = []
            for _ in 0..<2 {
                try SocketChannelFixture.python("for _ in range(500): attempt('10.0.0.1').close()")
                let seen = witness.wait(for: 500)
                guard seen == 500 else { throw TextError("the witness saw \(seen)") }
                counts.append((SocketChannelFixture.read(channel, 0).count, channel.dropCount))
            }
            return counts
        }
        let (first, second) = (counts[0], counts[1])
        #expect(first.dropped > 0 && first.read > 0)
        #expect(first.read + Int(first.dropped) == 500, "\(counts)")
        #expect(second.dropped > first.dropped && second.read > 0)
        #expect(second.read + Int(second.dropped - first.dropped) == 500, "\(counts)")
    }

    @Test("A channel that has left its groups reads nothing, and after a join what comes from then on")
    func groups() throws {
        let veth = try VethPairFixture()
        let counts = try SocketChannelFixture.inside(veth.here) {
            let witness = try SocketWitness.joined()
            let channel = try SocketEndingChannel(NetlinkOptions(), includesLoopback: false)
            var counts: [Int] = []
            func closeAndRead(_ expected: Int) throws {
                try SocketChannelFixture.python(
                    "for address in ('10.0.0.1', '10.0.1.1', '::ffff:10.0.0.1'): attempt(address).close()")
                counts.append(witness.wait(for: 3))
                counts.append(SocketChannelFixture.read(channel, expected).count)
            }
            try closeAndRead(3)
            try channel.leave()
            try closeAndRead(0)
            try channel.join()
            try closeAndRead(3)
            return counts + [Int(channel.dropCount)]
        }
        #expect(counts == [3, 3, 3, 0, 3, 3, 0])
    }

    @Test("A user without a capability hears of the sockets of others, and lists them with their owners")
    func unprivileged() throws {
        let veth = try SocketChannelFixture.silentPair()
        let sign = "/tmp/\(veth.here.name)-go"
        defer { unlink(sign) }
        // A program of root, which closes its socket on command.
        let program = try veth.here.start([
            "python3", "-c",
            SocketChannelFixture.prelude + """
                import os, time
                connection = attempt("10.0.0.1")
                while not os.path.exists("\(sign)"): time.sleep(0.02)
                connection.close()
                """,
        ])
        let found = try SocketChannelFixture.inside(veth.here) {
            _ = tg_thread_become(65_534)
            let channel = try SocketEndingChannel(NetlinkOptions(), includesLoopback: false)
            let lists = try SocketDumpChannel(NetlinkOptions())
            let request = SocketDump(.ipv4, .connecting, asksForInfo: true)
            var connecting = try SocketChannelFixture.list(lists, request)
            let deadline = ContinuousClock.now + .seconds(20)
            while connecting.isEmpty, ContinuousClock.now < deadline {
                connecting = try SocketChannelFixture.list(lists, request)
            }
            close(open(sign, O_CREAT | O_WRONLY, 0o600))
            let ended = SocketChannelFixture.read(channel, 1)
            return (connecting, ended, SystemFiles.text("/proc/thread-self/status") ?? "", channel.receiveBufferBytes)
        }
        let (connecting, ended, status, bytes) = found
        #expect(status.contains("CapEff:\t0000000000000000"))
        #expect(status.contains("Uid:\t65534\t65534\t65534\t65534"))
        #expect(connecting.map(\.remote.address) == [IPAddress("10.0.0.1")])
        #expect(connecting.first?.user == 0)
        #expect(connecting.first.map { $0.inode != 0 } == true)
        #expect(connecting.first?.tcp?.sentSegments == 1)
        #expect(ended.map(\.cookie) == connecting.map(\.cookie))
        #expect(ended.first?.tcp?.sentSegments == 1)
        // As much as the system lets everyone have, which is less than what was asked for.
        #expect(bytes > 0 && bytes < 16 << 20)
        withExtendedLifetime(program) {}
    }
}

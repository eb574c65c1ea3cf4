internal import CLinux
internal import Glibc
internal import Testing
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Processes announce their sockets to observers, with a real kernel.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct SocketAnnouncerTests {
    private struct Announcement: Sendable, Equatable {
        let cookie: UInt64
        let user: UInt32
    }

    private static func read(_ channel: SocketAnnouncementChannel) -> [Announcement] {
        var announcements: [Announcement] = []
        channel.receive { announcements.append(Announcement(cookie: $0, user: $1)) }
        return announcements
    }

    @Test("An announcement comes with its sender's user to every observer but the sender's own one")
    func users() throws {
        let namespace = try NetworkNamespace("a")
        let (names, read, own) = try SocketChannelFixture.inside(namespace) {
            let channels = try (0..<2).map { _ in try SocketAnnouncementChannel(NetlinkOptions()) }
            SocketAnnouncer().announce([7, 8], except: channels[1].name)
            var read = channels.map(Self.read)
            _ = tg_thread_become(1234)
            SocketAnnouncer().announce([9], except: nil)
            read += channels.map(Self.read)
            let other = try SocketAnnouncementChannel(NetlinkOptions())
            return (channels.map(\.name), read, [channels[0].user, other.user])
        }
        #expect(names[0] == "tidegate-observe-\(getpid())")
        #expect(names[1].hasPrefix("\(names[0])-"), "a process may have several observers")
        let byRoot = [Announcement(cookie: 7, user: 0), Announcement(cookie: 8, user: 0)]
        let byUser = [Announcement(cookie: 9, user: 1234)]
        #expect(read == [byRoot, [], byUser, byUser])
        #expect(own == [0, 1234], "an observer knows itself by the same number")
    }

    @Test("A datagram of another length than that of 1 to 32 numbers announces nothing")
    func lengths() throws {
        let namespace = try NetworkNamespace("a")
        let counts = try SocketChannelFixture.inside(namespace) {
            let channel = try SocketAnnouncementChannel(NetlinkOptions())
            let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(sender) }
            return (0...600).map { length in
                let bytes = [UInt8](repeating: 0xFF, count: length)
                let code = tg_send_abstract(sender, channel.name, bytes, length)
                return code == 0 ? Self.read(channel).count : -1
            }
        }
        #expect(counts == (0...600).map { $0 % 8 == 0 && $0 <= 256 ? $0 / 8 : 0 })
    }

    @Test("Descriptors that come with an announcement are not taken over")
    func descriptors() throws {
        let namespace = try NetworkNamespace("a")
        let path = "/tmp/\(namespace.name)-passed"
        let (read, targets) = try SocketChannelFixture.inside(namespace) {
            let channel = try SocketAnnouncementChannel(NetlinkOptions())
            try SocketChannelFixture.python(
                """
                import array, os
                file = open("\(path)", "w")
                os.unlink("\(path)")
                numbers = array.array("i", [file.fileno()])
                sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sender.sendmsg(
                    [(7).to_bytes(8, "little")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)], 0,
                    "\\0\(channel.name)")
                """)
            let read = Self.read(channel)
            let folder = "/proc/self/fd"
            return (read, SystemFiles.names(in: folder).compactMap { SystemFiles.target(of: "\(folder)/\($0)") })
        }
        #expect(read == [Announcement(cookie: 7, user: 0)])
        #expect(!targets.contains { $0.hasPrefix(path) })
    }

    @Test("What an observer has no room for comes with the next announcement")
    func room() throws {
        let namespace = try NetworkNamespace("a")
        try namespace.sysctl("net.unix.max_dgram_qlen=4")
        let (first, second) = try SocketChannelFixture.inside(namespace) {
            let channel = try SocketAnnouncementChannel(NetlinkOptions())
            let announcer = SocketAnnouncer()
            for cookie in 1...20 as ClosedRange<UInt64> { announcer.announce([cookie], except: nil) }
            let first = Self.read(channel).map(\.cookie)
            announcer.announce([21], except: nil)
            return (first, Self.read(channel).map(\.cookie))
        }
        #expect(!first.isEmpty && first.count < 20)
        #expect(first + second == Array(1...21))
    }

    @Test("An observer that begins after a process is found by it")
    func later() throws {
        let namespace = try NetworkNamespace("a")
        let cookies = try SocketChannelFixture.inside(namespace) {
            let announcer = SocketAnnouncer()
            announcer.announce([1], except: nil)
            let channel = try SocketAnnouncementChannel(NetlinkOptions())
            let deadline = ContinuousClock.now + .seconds(20)
            var cookies: [UInt64] = []
            while cookies.isEmpty, ContinuousClock.now < deadline {
                announcer.announce([2], except: nil)
                cookies = Self.read(channel).map(\.cookie)
                SocketChannelFixture.pause(channel.descriptor)
            }
            return cookies
        }
        #expect(cookies == [2])
    }
}

import Testing
import TidegateCore
@testable import TidegateNetwork

@testable import TidegateConnections

/// Which announcements of sockets are kept, and whose count.
struct AnnouncedSocketsTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let nothing = ConnectionTable(limit: 1)

    @Test("An announcement counts only for a socket of the user who sent it, if that is known")
    func users() {
        var sockets = AnnouncedSockets()
        sockets.insert(7, of: 1000, at: Self.start)
        #expect(sockets.contains(7, of: 1000))
        #expect(!sockets.contains(7, of: 0) && !sockets.contains(7, of: 1001))
        // Another user's does not take the place of the right one.
        sockets.insert(7, of: 1001, at: Self.start)
        #expect(sockets.contains(7, of: 1000))
    }

    @Test("Where a socket's user is not known, only root's and the daemon's own announcements count")
    func unknownUser() {
        var sockets = AnnouncedSockets(ownUser: 999)
        for (cookie, user) in [(7, 0), (8, 999), (9, 1000)] as [(UInt64, UInt32)] {
            sockets.insert(cookie, of: user, at: Self.start)
        }
        #expect(sockets.contains(7, of: nil) && sockets.contains(8, of: nil))
        #expect(!sockets.contains(9, of: nil) && sockets.contains(9, of: 1000))
        #expect(!AnnouncedSockets().contains(7, of: nil))
        sockets.insert(0, of: 0, at: Self.start)
        #expect(!sockets.contains(0, of: nil), "that is no socket's number")
    }

    @Test("An announcement is forgotten after a minute, unless its connection lives")
    func expiry() {
        var table = ConnectionTable(limit: 10)
        let report = SocketReport(
            state: .established, local: .init(address: IPAddress(ipv4: 1), port: 1),
            remote: .init(address: IPAddress(ipv4: 2), port: 2), cookie: 8)
        let isTaken = table.insert(TrackedConnection(report, .outgoing, listNumber: 1))
        #expect(isTaken)
        var sockets = AnnouncedSockets()
        for cookie in [7, 8] as [UInt64] { sockets.insert(cookie, of: 0, at: Self.start) }
        sockets.expire(at: Self.start + .seconds(59), live: table)
        #expect(sockets.contains(7, of: 0) && sockets.contains(8, of: 0))
        sockets.expire(at: Self.start + .seconds(60), live: table)
        #expect(!sockets.contains(7, of: 0) && sockets.contains(8, of: 0))
        table.remove(8)
        sockets.expire(at: Self.start + .seconds(61), live: table)
        #expect(!sockets.contains(8, of: nil))
    }

    @Test("Of one user's announcements the oldest make room, and other users' stay")
    func limit() {
        var sockets = AnnouncedSockets()
        sockets.insert(1, of: 1, at: Self.start)
        let count = UInt64(AnnouncedSockets.limit)
        for number in 0...count { sockets.insert(10 + number, of: 0, at: Self.start + .milliseconds(Int64(number))) }
        let kept = (0...count).count { sockets.contains(10 + $0, of: 0) }
        #expect(kept > AnnouncedSockets.limit / 2 && kept <= AnnouncedSockets.limit)
        #expect(sockets.contains(10 + count, of: 0) && !sockets.contains(10, of: 0))
        #expect(sockets.contains(1, of: 1))
    }

    @Test("Of more users than 64 there is room for others once those of the first have expired")
    func users64() {
        var sockets = AnnouncedSockets()
        let count = UInt32(AnnouncedSockets.userLimit)
        for user in 0...count { sockets.insert(7, of: user, at: Self.start) }
        #expect(sockets.contains(7, of: count - 1) && !sockets.contains(7, of: count))
        sockets.expire(at: Self.start + .seconds(60), live: Self.nothing)
        sockets.insert(7, of: count, at: Self.start + .seconds(60))
        #expect(sockets.contains(7, of: count))
    }
}

import Testing
import TidegateCore
@testable import TidegateNetwork

@testable import TidegateConnections

/// The table of live connections.
struct ConnectionTableTests {
    private static func connection(_ cookie: UInt64, list: UInt32 = 0) -> TrackedConnection {
        TrackedConnection(
            SocketReport(
                state: .established, local: .init(address: IPAddress(ipv4: 1), port: 1),
                remote: .init(address: IPAddress(ipv4: 2), port: 2),
                cookie: cookie), .outgoing, listNumber: list)
    }

    @Test("Every connection is found by its number, however many were taken in and removed")
    func find() {
        var table = ConnectionTable(limit: 10_000)
        let numbers = Array(0..<5000 as Range<UInt64>)
        let taken = numbers.map { table.insert(Self.connection($0)) }
        #expect(!taken.contains(false))
        let gone = numbers.filter { $0 % 3 == 0 }
        let removed = gone.map { table.remove($0)?.cookie }
        #expect(removed == gone && table.count == 3333)
        let found = numbers.map { number in table.update(number) { $0.cookie } }
        #expect(found == numbers.map { $0 % 3 == 0 ? nil : $0 })
        for number in numbers { table.remove(number) }
        #expect(table.count == 0)
        let again = table.insert(Self.connection(7))
        let last = table.remove(7)?.cookie
        #expect(again && last == 7)
    }

    @Test("No more are taken in than the limit allows, and none twice")
    func limit() {
        var table = ConnectionTable(limit: 2)
        let taken = [1, 1, 2, 3].map { table.insert(Self.connection($0)) }
        #expect(taken == [true, false, true, false])
        table.remove(1)
        let hasRoom = table.insert(Self.connection(3))
        #expect(hasRoom)
    }

    @Test("Those that lists do not show any more are removed")
    func unseen() {
        var table = ConnectionTable(limit: 5000)
        for cookie in 1...3000 as ClosedRange<UInt64> {
            var connection = Self.connection(cookie, list: cookie % 2 == 0 ? 4 : 5)
            connection.flags.insert(.established)
            _ = table.insert(connection)
        }
        let gone = table.removeAll(notSeenSince: 5)
        #expect(gone.count == 1500)
        let lists = [1, 2].map { cookie in table.update(cookie) { $0.listNumber } }
        #expect(table.count == 1500 && lists == [5, nil])
    }

    @Test("One that is being opened is not missed by lists of the others")
    func opening() {
        var table = ConnectionTable(limit: 2)
        _ = table.insert(Self.connection(1, list: 4))
        #expect(table.removeAll(notSeenSince: 20).isEmpty)
        // For so long it was in none of its own lists, either.
        #expect(table.removeAll(notSeenSince: 21).map(\.cookie) == [1])
    }

    @Test("An entry is small, because there may be tens of thousands")
    func size() { #expect(MemoryLayout<TrackedConnection>.stride <= 80) }
}

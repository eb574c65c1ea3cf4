import Testing
import TidegateCore

@testable import TidegateSession

@Suite
struct ConnectionLimiterTests {
    private static func origin(_ name: String) throws -> Origin { try HTTPURL("http://\(name).test/").origin }

    @Test("A connection goes to the highest priority and then to the longest wait, within both limits")
    func order() throws {
        let (origin, other) = (try Self.origin("a"), try Self.origin("b"))
        var limiter = ConnectionLimiter(perOrigin: 1, inAll: 2)
        var joined: [Bool] = []
        for (task, place, priority) in [(1, origin, 0), (2, origin, 0), (3, origin, 5), (4, other, 0), (5, other, 9)] {
            joined.append(limiter.join(UInt64(task), place, priority: priority))
        }
        #expect(joined == [true, false, false, true, false])
        let early = limiter.next()
        #expect(early == nil)
        limiter.leave(origin)
        let (first, none) = (limiter.next(), limiter.next())
        #expect(first == 3 && none == nil)
        limiter.leave(other)
        limiter.leave(origin)
        limiter.withdraw(5)
        let (second, last) = (limiter.next(), limiter.next())
        #expect(second == 2 && last == nil)
        #expect(limiter.used == 1)
        #expect(limiter.tickets.count == 0)
    }

    @Test("A hundred thousand tasks of one origin go in the order in which they joined, without those that withdrew")
    func manyWaiting() throws {
        let origin = try Self.origin("a")
        var limiter = ConnectionLimiter(perOrigin: 1, inAll: 1)
        let count: UInt64 = 100_000
        for task in 0..<count { _ = limiter.join(task, origin, priority: 0) }
        #expect(limiter.tickets.count == 99_999)
        // From the end, where a search from the front would take longest.
        for task in (1..<count).reversed() where task % 2 == 0 { limiter.withdraw(task) }
        #expect(limiter.tickets.count == 50_000)
        var order: [UInt64] = []
        limiter.leave(origin)
        while let next = limiter.next() {
            order.append(next)
            limiter.leave(origin)
        }
        #expect(order == (1..<count).filter { $0 % 2 == 1 })
        #expect(limiter.used == 0)
        #expect(limiter.tickets.count == 0)
    }

    @Test("A hundred thousand origins take turns")
    func manyOrigins() throws {
        let origins = try (0..<100_000).map { try Self.origin("h\($0)") }
        var limiter = ConnectionLimiter(perOrigin: 2, inAll: 1)
        let busy = try Self.origin("busy")
        let isFirstAdmitted = limiter.join(0, busy, priority: 0)
        #expect(isFirstAdmitted)
        for (position, origin) in origins.enumerated() {
            let isAdmitted = limiter.join(UInt64(position + 1), origin, priority: 0)
            #expect(!isAdmitted)
        }
        limiter.leave(busy)
        for position in origins.indices {
            let next = limiter.next()
            #expect(next == UInt64(position + 1))
            limiter.leave(origins[position])
        }
    }

    @Test("A long queue for one origin does not keep another origin's task waiting")
    func turns() throws {
        let (long, short) = (try Self.origin("a"), try Self.origin("b"))
        var limiter = ConnectionLimiter(perOrigin: 4, inAll: 1)
        for task in 0..<UInt64(100) { _ = limiter.join(task, long, priority: 0) }
        _ = limiter.join(200, short, priority: 0)
        var order: [UInt64] = []
        for _ in 0..<3 {
            limiter.leave(order.last == 200 ? short : long)
            if let next = limiter.next() { order.append(next) }
        }
        #expect(order == [1, 200, 2])
    }

    @Test("A task that joins and withdraws again and again leaves nothing behind")
    func joinAndWithdraw() throws {
        let (origin, other) = (try Self.origin("a"), try Self.origin("b"))
        var limiter = ConnectionLimiter(perOrigin: 1, inAll: 1)
        _ = limiter.join(0, origin, priority: 0)
        for round in 1..<10_000 {
            _ = limiter.join(1, other, priority: round % 3)
            limiter.withdraw(1)
        }
        #expect(limiter.tickets.count == 0)
        limiter.leave(origin)
        let next = limiter.next()
        #expect(next == nil)
        let isAdmitted = limiter.join(2, other, priority: 0)
        #expect(isAdmitted)
    }
}

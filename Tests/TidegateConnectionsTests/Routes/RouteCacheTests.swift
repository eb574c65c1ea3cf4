import Testing
import TidegateCore

@testable import TidegateConnections

/// Which routes are looked up, and how long they are known.
struct RouteCacheTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let route = AddressRoute(verdict: Verdict(level: .routed), link: "v0")

    private static func address(_ number: Int) -> IPAddress { IPAddress(ipv4: 0xC633_0000 + UInt32(number)) }

    @Test("A route is looked up again after five seconds, and known meanwhile")
    func refresh() {
        var cache = RouteCache()
        let now = Self.start
        let first = [now, now].map { cache.needsLookUp(Self.address(1), at: $0) }
        #expect(first == [true, false])
        cache.set(Self.route, for: Self.address(1))
        let later = [now + .seconds(4.999), now + .seconds(5)].map { cache.needsLookUp(Self.address(1), at: $0) }
        #expect(later == [false, true])
        #expect(cache.route(to: Self.address(1)) == Self.route)
    }

    @Test("A route older than five seconds is not a recent one, nor is one that is being looked up again")
    func recent() {
        var cache = RouteCache()
        let now = Self.start
        func recent(after seconds: Double) -> AddressRoute? {
            cache.recentRoute(to: Self.address(1), at: now + .seconds(seconds))
        }
        _ = cache.needsLookUp(Self.address(1), at: now)
        #expect(recent(after: 0) == nil)
        cache.set(Self.route, for: Self.address(1))
        #expect(recent(after: 4.999) == Self.route)
        #expect(recent(after: 5) == nil)
        _ = cache.needsLookUp(Self.address(1), at: now + .seconds(5))
        #expect(recent(after: 5) == nil)
        cache.set(Self.route, for: Self.address(1))
        #expect(recent(after: 9) == Self.route)
    }

    @Test("What is looked up, also again, is waited for until the last answer, and for a second at most")
    func waiting() {
        var cache = RouteCache()
        var now = Self.start
        #expect(!cache.isWaiting(at: now))
        for _ in 0..<2 {
            let isLookedUp = [0, 1].map { cache.needsLookUp(Self.address($0), at: now) }
            #expect(isLookedUp == [true, true])
            #expect(cache.isWaiting(at: now))
            cache.set(Self.route, for: Self.address(0))
            #expect(cache.isWaiting(at: now + .seconds(0.999)))
            #expect(!cache.isWaiting(at: now + .seconds(1)))
            // An answer that comes twice is not another's.
            cache.set(Self.route, for: Self.address(0))
            #expect(cache.isWaiting(at: now))
            cache.set(Self.route, for: Self.address(1))
            #expect(!cache.isWaiting(at: now))
            now = now + .seconds(5)
        }
    }

    @Test("More routes than are kept are not looked up until others are old")
    func full() {
        var cache = RouteCache()
        let isLookedUp = (0...8192).map { cache.needsLookUp(Self.address($0), at: Self.start) }
        #expect(isLookedUp == Array(repeating: true, count: 8192) + [false])
        #expect(!cache.isAsked(Self.address(8192)))
        let isLookedUpLater = cache.needsLookUp(Self.address(8192), at: Self.start + .seconds(5))
        #expect(isLookedUpLater)
        #expect(!cache.isAsked(Self.address(0)))
        cache.set(Self.route, for: Self.address(8192))
        #expect(!cache.isWaiting(at: Self.start + .seconds(5)))
    }
}

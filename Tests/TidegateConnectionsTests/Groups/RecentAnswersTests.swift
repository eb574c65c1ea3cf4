import Testing
import TidegateCore

@testable import TidegateConnections

/// Which other remotes behind a next hop answered last.
struct RecentAnswersTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let one = NextHop(gateway: IPAddress(ipv4: 0x0A00_0001), interface: "v0")
    private static let other = NextHop(gateway: IPAddress(ipv4: 0x0A00_0002), interface: "v0")

    private static func address(_ number: UInt32) -> IPAddress { IPAddress(ipv4: 0xC633_0000 + number) }

    private var remotes = RemoteTable()
    private var routes = RouteCache()
    private var answers = RecentAnswers()

    private mutating func answer(_ number: UInt32, port: UInt16 = 443, behind nextHop: NextHop, ago: Double) {
        let address = Self.address(number)
        _ = self.routes.needsLookUp(address, at: Self.start)
        let path = NetworkPath(interface: "v0", index: 7, gateway: nextHop.gateway)
        self.routes.set(AddressRoute(verdict: Verdict(level: .routed, path: path), link: "v0"), for: address)
        self.remotes.update(Remote(address, port: port, .outgoing), at: Self.start) {
            $0.answer(.seconds(ago), roundTrip: nil, at: Self.start)
        }
    }

    private mutating func latest(
        behind nextHop: NextHop, besides number: UInt32, after delay: Duration = .zero
    ) -> Duration? {
        self.answers.latest(
            behind: nextHop, besides: Self.address(number), self.remotes, self.routes, at: Self.start + delay
        ).map { Self.start - $0 }
    }

    @Test("The latest answer is another address's behind the same next hop, whatever its ports")
    mutating func latest() {
        self.answer(1, behind: Self.one, ago: 1)
        self.answer(1, port: 80, behind: Self.one, ago: 2)
        self.answer(2, behind: Self.one, ago: 3)
        self.answer(2, port: 80, behind: Self.one, ago: 4)
        self.answer(3, behind: Self.one, ago: 5)
        self.answer(4, behind: Self.other, ago: 0.1)
        let found = [1, 2, 9].map { self.latest(behind: Self.one, besides: $0) }
        #expect(found == [.seconds(3), .seconds(1), .seconds(1)])
        let others = [4, 1].map { self.latest(behind: Self.other, besides: $0) }
        #expect(others == [nil, .milliseconds(100)])
    }

    @Test("What has answered since is known ten milliseconds later")
    mutating func refresh() {
        let before = self.latest(behind: Self.one, besides: 1)
        self.answer(2, behind: Self.one, ago: 1)
        let after = [9, 10].map { self.latest(behind: Self.one, besides: 1, after: .milliseconds($0)) }
        #expect(before == nil && after == [nil, .seconds(1)])
    }
}

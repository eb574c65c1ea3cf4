import Testing
import TidegateTesting

@testable import TidegateCore
@testable import TidegateReachability

/// When ways out are asked that packets do not take, and when their state is news.
@Suite struct UplinkWatchTests {
    private var watch = UplinkWatch(at: Self.at(0).monotonic)

    private static func at(_ seconds: Double) -> UplinkWatch.Moment {
        .init(
            monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds),
            wall: WallTime(microseconds: 1_790_000_000_000_000) + .seconds(seconds))
    }

    private static func uplink(
        _ number: UInt32, _ role: Uplink.Role = .standby, _ state: Uplink.State = .unknown
    ) -> Uplink {
        var uplink = Uplink("lan\(number)", IPAddress(ipv4: 0xC0A8_0001 + number << 8), .ipv4, role)
        uplink.state = state
        return uplink
    }

    /// lan1, which is used, and lan2 in a state.
    private static func two(_ state: Uplink.State) -> [Uplink] { [uplink(1, .used), uplink(2, .standby, state)] }

    /// The effects, in words.
    private mutating func handle(
        _ found: [Uplink]? = nil, used: Uplink.State = .works, at seconds: Double
    ) -> [String] {
        self.watch.handle(found, used: used, at: Self.at(seconds)).map { effect in
            switch effect {
            case .ask: "ask"
            case .known: "known"
            case .publish(let event):
                "\(event.uplink.interface) \(event.isGone ? "gone" : event.uplink.state.rawValue)"
            }
        }
    }

    private var states: [String] { self.watch.uplinks.map { "\($0.interface) \($0.role) \($0.state)" } }

    @Test("The ways are asked each minute; a host with a single one has none, and nothing is said")
    mutating func single() {
        #expect(self.handle(at: 4.9) == [] && self.watch.deadline == Self.at(5).monotonic)
        #expect(self.handle(at: 5) == ["ask"])
        #expect(self.handle([Self.uplink(1, .used)], at: 5.1) == [] && self.watch.uplinks == [])
        #expect(self.handle(at: 64.9) == [] && self.handle(at: 65) == ["ask"])
    }

    @Test("A standby way that falls silent is asked again after five seconds, and then called so")
    mutating func silence() {
        _ = self.handle(at: 5)
        #expect(self.handle(Self.two(.works), at: 6) == ["known"])
        #expect(self.states == ["lan1 used works", "lan2 standby works"])
        _ = self.handle(at: 65)
        #expect(self.handle(Self.two(.silent), at: 66) == [], "one lost round proves nothing")
        #expect(self.handle(at: 71) == ["ask"])
        #expect(self.handle(Self.two(.silent), at: 72) == ["known", "lan2 silent"])
        #expect(self.watch.uplinks.map(\.since) == [nil, Self.at(72).wall])
        _ = self.handle(at: 131)
        #expect(self.handle(Self.two(.provider), at: 132) == ["known", "lan2 provider"], "the router is back")
        _ = self.handle(at: 191)
        #expect(self.handle(Self.two(.works), at: 192) == ["known", "lan2 works"])
    }

    @Test("A round that was lost once is no news, and a link without a carrier is certain at once")
    mutating func doubt() {
        _ = self.handle(at: 5)
        _ = self.handle(Self.two(.works), at: 6)
        _ = self.handle(at: 65)
        _ = self.handle(Self.two(.provider), at: 66)
        _ = self.handle(at: 71)
        #expect(self.handle(Self.two(.works), at: 72) == [])
        _ = self.handle(at: 131)
        #expect(self.handle(Self.two(.down), at: 132) == ["known", "lan2 down"])
    }

    @Test("A broken way that disappears, or that packets take from now on, is no standby any more")
    mutating func changes() {
        _ = self.handle(at: 5)
        #expect(self.handle(Self.two(.down), at: 6) == ["known", "lan2 down"])
        _ = self.handle(at: 65)
        #expect(self.handle([Self.uplink(1, .used)], at: 66) == ["known", "lan2 gone"] && self.watch.uplinks == [])
        _ = self.handle(at: 125)
        _ = self.handle(Self.two(.down), at: 126)
        self.watch.hasten(at: Self.at(130).monotonic)
        #expect(self.handle(at: 135) == ["ask"], "the path has changed")
        let swapped = [Self.uplink(2, .used), Self.uplink(1, .standby, .works)]
        #expect(self.handle(swapped, at: 136) == ["known", "lan2 works"])
        #expect(self.states == ["lan2 used works", "lan1 standby works"])
    }

    @Test("The way that is used alone has the state of this host's diagnosis, which is published elsewhere")
    mutating func used() {
        _ = self.handle(at: 5)
        _ = self.handle(Self.two(.works), at: 6)
        #expect(self.handle(used: .provider, at: 20) == ["known"])
        #expect(self.states == ["lan1 used provider", "lan2 standby works"])
        #expect(self.handle(used: .works, at: 30) == ["known"])
    }

    @Test("One of several next hops that are used together is judged by itself")
    mutating func members() {
        let both = [Self.uplink(1, .member, .works), Self.uplink(2, .member, .works)]
        _ = self.handle(at: 5)
        _ = self.handle(both, at: 6)
        let one = [Self.uplink(1, .member, .works), Self.uplink(2, .member, .silent)]
        _ = self.handle(at: 65)
        _ = self.handle(one, at: 66)
        _ = self.handle(at: 71)
        let effects = self.watch.handle(one, used: .works, at: Self.at(72))
        guard case .publish(let event)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
        #expect(
            event.projection.sentence
                == "part of the connections fail: no echo comes back over lan2, not even from 192.168.2.1")
    }

    @Test("An answer that nobody asked for changes nothing, and a worker that never answers is given up after a minute")
    mutating func worker() {
        #expect(self.handle(Self.two(.works), at: 1) == [])
        #expect(self.handle(at: 5) == ["ask"] && self.watch.deadline == Self.at(65).monotonic)
        #expect(self.handle(at: 64) == [])
        #expect(self.handle(at: 65) == ["ask"])
    }
}

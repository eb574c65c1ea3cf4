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
        _ found: [Uplink]? = nil, used: Uplink.State? = .works, over interface: String = "lan1", at seconds: Double
    ) -> [String] {
        self.watch.handle(found, used: used, over: interface, at: Self.at(seconds)).map { effect in
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
        #expect(self.watch.uplinks.map(\.since) == [nil, Self.at(66).wall], "since the first silence")
        _ = self.handle(at: 131)
        #expect(self.handle(Self.two(.provider), at: 132) == ["known", "lan2 provider"], "the router is back")
        #expect(self.watch.uplinks.last?.since == Self.at(66).wall, "the same failure")
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
        #expect(self.handle(swapped, used: nil, over: "lan2", at: 136) == ["known", "lan2 unknown"])
        #expect(self.states == ["lan2 used unknown", "lan1 standby works"], "nothing shows that it works")
        #expect(self.handle(used: .works, over: "lan2", at: 140) == ["known"])
    }

    @Test("A broken line that remains alone is used from then on, and not gone")
    mutating func alone() {
        _ = self.handle(at: 5)
        _ = self.handle(Self.two(.down), at: 6)
        _ = self.handle(at: 65)
        #expect(self.handle([Self.uplink(2, .used)], used: nil, over: "lan2", at: 66) == ["known", "lan2 unknown"])
        #expect(self.watch.uplinks == [])
    }

    @Test("A broken line with another gateway is one line: its failure goes on, without an end in between")
    mutating func otherGateway() {
        _ = self.handle(at: 5)
        _ = self.handle(Self.two(.down), at: 6)
        var other = Uplink("lan2", IPAddress(ipv4: 0xC0A8_0909))
        other.state = .down
        _ = self.handle(at: 65)
        #expect(self.handle([Self.uplink(1, .used), other], at: 66) == ["known"])
    }

    @Test("The way that is used alone has the state of this host's diagnosis, which is published elsewhere")
    mutating func used() {
        _ = self.handle(at: 5)
        _ = self.handle(Self.two(.works), at: 6)
        #expect(self.handle(used: .provider, at: 20) == ["known"])
        #expect(self.states == ["lan1 used provider", "lan2 standby works"])
        #expect(self.handle(used: nil, at: 25) == [], "while a silence is being checked nothing is new")
        #expect(self.handle(used: .works, over: "lan2", at: 26) == [], "the path has moved, and the list has not yet")
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
        let effects = self.watch.handle(one, used: .works, over: "lan1", at: Self.at(72))
        guard case .publish(let event)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
        #expect(
            event.projection.sentence
                == "some connections fail: no echo comes back over lan2, not even from 192.168.2.1")
    }

    @Test("An answer that nobody asked for changes nothing, and a worker that never answers is given up after a minute")
    mutating func worker() {
        #expect(self.handle(Self.two(.works), at: 1) == [])
        #expect(self.handle(at: 5) == ["ask"] && self.watch.deadline == Self.at(65).monotonic)
        #expect(self.handle(at: 64) == [])
        #expect(self.handle(at: 65) == ["ask"])
    }
}

internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// When the internet is asked for, and what its answers come to.
struct InternetMachineTests {
    private static let way = NetworkPath(
        interface: "eth0", index: 77, gateway: IPAddress(ipv4: 0x0A00_0001), source: IPAddress(ipv4: 0x0A00_0002))

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .milliseconds(Int(seconds * 1000))
    }

    private func path(_ gateway: UInt32 = 0x0A00_0001, metered: Metered = .guessNo) -> NetworkPath {
        var path = InternetMachineTests.way
        path.gateway = IPAddress(ipv4: gateway)
        path.metered = metered
        return path
    }

    /// A machine whose first round of IPv4 is under way since second 0.
    private func asking(metered: Metered = .guessNo) -> InternetMachine {
        var machine = InternetMachine(interval: .seconds(300))
        _ = machine.handle(.path(.ipv4, self.path(metered: metered)), at: self.at(0))
        _ = machine.handle(.tick, at: self.at(0))
        return machine
    }

    @Test("Nothing is asked without a path, and a path is asked over at once")
    func first() {
        var machine = InternetMachine(interval: .seconds(300))
        #expect(machine.deadline == nil)
        #expect(machine.handle(.tick, at: self.at(0)).isEmpty)
        #expect(machine.handle(.path(.ipv4, self.path()), at: self.at(1)).isEmpty)
        #expect(machine.deadline == self.at(1))
        #expect(machine.handle(.tick, at: self.at(1)) == [.ask(.ipv4, round: 2)])
        #expect(machine.deadline == nil, "nothing is due while an answer is awaited")
    }

    @Test("A success enters at once and rests for the interval")
    func success() {
        var machine = self.asking()
        #expect(machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(1)) == [.level(.ipv4, .full)])
        #expect(machine.deadline == self.at(301))
        #expect(machine.connectivity(.ipv4) == .full)
    }

    @Test("Failures are asked about after 1 s, 2 s, 4 s and so on, up to five minutes")
    func backoff() {
        var machine = self.asking()
        var (moment, pauses): (Double, [Double]) = (0, [])
        for round in 2...12 {
            _ = machine.handle(.answered(.ipv4, round: round, .none), at: self.at(moment))
            guard let next = machine.deadline else { break }
            pauses.append((next - self.at(moment)).inSeconds)
            moment += pauses.last ?? 0
            #expect(machine.handle(.tick, at: self.at(moment)) == [.ask(.ipv4, round: round + 1)])
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    }

    @Test("Two failures in a row leave online, one does not")
    func leaving() {
        var machine = self.asking()
        _ = machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(0))
        _ = machine.handle(.tick, at: self.at(300))
        #expect(machine.handle(.answered(.ipv4, round: 3, .none), at: self.at(301)).isEmpty)
        #expect(machine.deadline == self.at(302), "it is asked again soon")
        _ = machine.handle(.tick, at: self.at(302))
        #expect(machine.handle(.answered(.ipv4, round: 4, .none), at: self.at(303)) == [.level(.ipv4, .none)])
    }

    @Test("One failure at the start, and a portal after a failure, count at once")
    func entering() {
        var machine = self.asking()
        #expect(machine.handle(.answered(.ipv4, round: 2, .limited), at: self.at(0)) == [.level(.ipv4, .limited)])
        _ = machine.handle(.tick, at: self.at(1))
        let portal = Connectivity.portal(location: "http://login.example/")
        #expect(machine.handle(.answered(.ipv4, round: 3, portal), at: self.at(1)) == [.level(.ipv4, portal)])
    }

    @Test("A lost path drops the level at once, and its late answer is not heard")
    func loss() {
        var machine = self.asking()
        _ = machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(0))
        #expect(machine.handle(.path(.ipv4, nil), at: self.at(5)) == [.level(.ipv4, .unknown)])
        #expect(machine.deadline == nil)
        #expect(machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(6)).isEmpty)
    }

    @Test("Another path starts anew; the same one, renamed, does not")
    func move() {
        var machine = self.asking()
        _ = machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(0))
        var renamed = self.path()
        renamed.interface = "wan"
        #expect(machine.handle(.path(.ipv4, renamed), at: self.at(1)).isEmpty)
        #expect(machine.connectivity(.ipv4) == .full)
        #expect(machine.handle(.path(.ipv4, self.path(0x0A00_0009)), at: self.at(2)) == [.level(.ipv4, .unknown)])
        #expect(machine.deadline == self.at(2))
        #expect(machine.handle(.tick, at: self.at(2)).count == 1)
        #expect(machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(3)).isEmpty, "the old path's answer")
    }

    @Test("Over a metered path at least a minute lies between checks, also where the path comes and goes")
    func metered() {
        var machine = self.asking(metered: .yes)
        _ = machine.handle(.answered(.ipv4, round: 2, .none), at: self.at(1))
        #expect(machine.deadline == self.at(60))
        _ = machine.handle(.path(.ipv4, nil), at: self.at(10))
        _ = machine.handle(.path(.ipv4, self.path(metered: .yes)), at: self.at(20))
        #expect(machine.deadline == self.at(60))
    }

    @Test("A failed request has the internet asked for within a second, but not all the time")
    func suspicion() {
        var machine = self.asking()
        _ = machine.handle(.answered(.ipv4, round: 2, .full), at: self.at(0))
        _ = machine.handle(.requestFailed, at: self.at(100))
        #expect(machine.deadline == self.at(101))
        _ = machine.handle(.tick, at: self.at(101))
        _ = machine.handle(.answered(.ipv4, round: 3, .full), at: self.at(102))
        _ = machine.handle(.requestFailed, at: self.at(110))
        #expect(machine.deadline == self.at(402), "it has just been asked for")
        _ = machine.handle(.requestFailed, at: self.at(131))
        #expect(machine.deadline == self.at(132))
    }

    @Test("A request that succeeds is as good as a check, unless it is older than the last one")
    func passed() {
        var machine = self.asking()
        _ = machine.handle(.answered(.ipv4, round: 2, .none), at: self.at(10))
        #expect(machine.handle(.passed(.ipv4, at: self.at(-1)), at: self.at(11)).isEmpty)
        #expect(machine.handle(.passed(.ipv4, at: self.at(10.5)), at: self.at(11)) == [.level(.ipv4, .full)])
        #expect(machine.deadline == self.at(311), "the check is left out")
    }

    @Test("Each family goes its own way")
    func families() {
        var machine = self.asking()
        _ = machine.handle(.path(.ipv6, NetworkPath(interface: "eth0", index: 77)), at: self.at(0))
        let effects = machine.handle(.tick, at: self.at(0))
        #expect(effects.count == 1)
        guard case .ask(.ipv6, let round)? = effects.first else { return }
        _ = machine.handle(.answered(.ipv6, round: round, .full), at: self.at(1))
        #expect(machine.connectivity(.ipv6) == .full && machine.connectivity(.ipv4) == .unknown)
    }
}

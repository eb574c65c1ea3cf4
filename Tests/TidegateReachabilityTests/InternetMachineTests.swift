internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// When the internet is checked, and what the results mean.
struct InternetMachineTests {
    private static let path = NetworkPath(
        interface: "eth0", index: 77, gateway: IPAddress(ipv4: 0x0A00_0001), source: IPAddress(ipv4: 0x0A00_0002))

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .milliseconds(Int(seconds * 1000))
    }

    private func path(_ gateway: UInt32 = 0x0A00_0001, metered: Metered = .guessNo) -> NetworkPath {
        var path = InternetMachineTests.path
        path.gateway = IPAddress(ipv4: gateway)
        path.metered = metered
        return path
    }

    /// A machine whose first round of IPv4 was started in second 0.
    private func checking(metered: Metered = .guessNo) -> InternetMachine {
        var machine = InternetMachine(interval: .seconds(300))
        _ = machine.handle(.path(.ipv4, self.path(metered: metered)), at: self.at(0))
        _ = machine.handle(.tick, at: self.at(0))
        return machine
    }

    /// The round that these effects start for a family.
    private static func round(_ effects: [InternetMachine.Effect], _ family: AddressFamily) -> Int? {
        effects.compactMap { if case .check(family, let round) = $0 { round } else { nil } }.first
    }

    @Test("Nothing is checked without a path, and a path is checked at once")
    func first() {
        var machine = InternetMachine(interval: .seconds(300))
        #expect(machine.deadline == nil)
        #expect(machine.handle(.tick, at: self.at(0)).isEmpty)
        #expect(machine.handle(.path(.ipv4, self.path()), at: self.at(1)).isEmpty)
        #expect(machine.deadline == self.at(1))
        #expect(machine.handle(.tick, at: self.at(1)) == [.check(.ipv4, round: 2)])
        #expect(machine.deadline == self.at(2.5), "only that a check is silent is noticed while it is running")
    }

    @Test("A check without an answer for 1.5 s is reported once, with its first packet; not where checks fail already")
    func silent() {
        var machine = InternetMachine(interval: .seconds(300))
        _ = machine.handle(.path(.ipv4, self.path()), at: self.at(1))
        _ = machine.handle(.tick, at: self.at(1))
        #expect(machine.handle(.tick, at: self.at(2)).isEmpty)
        #expect(machine.handle(.tick, at: self.at(2.5)) == [.silent(since: self.at(1))])
        #expect(machine.deadline == nil)
        _ = machine.handle(.finished(.ipv4, round: 2, .none), at: self.at(11))
        #expect(machine.handle(.tick, at: self.at(12)) == [.check(.ipv4, round: 3)])
        #expect(machine.deadline == nil)
    }

    @Test("A success counts at once; the next check follows after the interval")
    func success() {
        var machine = self.checking()
        #expect(machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(1)) == [.level(.ipv4, .full)])
        #expect(machine.deadline == self.at(301))
        #expect(machine.connectivity(.ipv4) == .full)
    }

    @Test(
        "A question is decided by a check that begins after it: at once, even where checks cost money",
        arguments: [Metered.guessNo, .yes])
    func question(metered: Metered) {
        var machine = self.checking(metered: metered)
        let since = self.at(0.5)
        var decided = [machine.decides(.ipv4, since: since, at: since)]
        #expect(decided == [false], "the running check began before")
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(1))
        decided = [machine.decides(.ipv4, since: since, at: self.at(1))]
        #expect(decided == [false] && machine.deadline == self.at(1))
        let effects = machine.handle(.tick, at: self.at(1))
        #expect(effects == [.check(.ipv4, round: 3)])
        decided = [machine.decides(.ipv4, since: since, at: self.at(1))]
        _ = machine.handle(.finished(.ipv4, round: 3, .full), at: self.at(2))
        decided += [AddressFamily.ipv4, .ipv6].map { machine.decides($0, since: since, at: self.at(2)) }
        #expect(decided == [false, true, true], "IPv6 has no path")
    }

    @Test("One failure of a good path decides no question; the second one does, a second later")
    func doubtfulQuestion() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(1))
        var decided = [machine.decides(.ipv4, since: self.at(10), at: self.at(10))]
        var effects = machine.handle(.tick, at: self.at(10))
        effects += machine.handle(.finished(.ipv4, round: 3, .none), at: self.at(11))
        decided.append(machine.decides(.ipv4, since: self.at(10), at: self.at(11)))
        #expect(machine.deadline == self.at(12))
        effects += machine.handle(.tick, at: self.at(12))
        effects += machine.handle(.finished(.ipv4, round: 4, .none), at: self.at(13))
        decided.append(machine.decides(.ipv4, since: self.at(10), at: self.at(13)))
        #expect(effects == [.check(.ipv4, round: 3), .check(.ipv4, round: 4), .level(.ipv4, .none)])
        #expect(decided == [false, false, true])
    }

    @Test("After failures the next check follows after 1 s, 2 s, 4 s and so on, up to five minutes")
    func backoff() throws {
        var machine = self.checking()
        var (moment, pauses): (Double, [Double]) = (0, [])
        for round in 2...12 {
            _ = machine.handle(.finished(.ipv4, round: round, .none), at: self.at(moment))
            let next = try #require(machine.deadline)
            pauses.append((next - self.at(moment)).inSeconds)
            moment += pauses.last ?? 0
            #expect(machine.handle(.tick, at: self.at(moment)) == [.check(.ipv4, round: round + 1)])
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    }

    @Test("Two failures in a row leave online, one does not")
    func leaving() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(0))
        _ = machine.handle(.tick, at: self.at(300))
        #expect(machine.handle(.finished(.ipv4, round: 3, .none), at: self.at(301)).isEmpty)
        #expect(machine.deadline == self.at(302), "it is checked again soon")
        _ = machine.handle(.tick, at: self.at(302))
        #expect(machine.handle(.finished(.ipv4, round: 4, .none), at: self.at(303)) == [.level(.ipv4, .none)])
    }

    @Test("One failure at the start leaves the level unchanged, two do not; later ones count immediately")
    func entering() {
        var machine = self.checking()
        #expect(machine.handle(.finished(.ipv4, round: 2, .limited), at: self.at(0)).isEmpty)
        #expect(machine.deadline == self.at(1), "it is checked again soon")
        _ = machine.handle(.tick, at: self.at(1))
        #expect(machine.handle(.finished(.ipv4, round: 3, .limited), at: self.at(1)) == [.level(.ipv4, .limited)])
        _ = machine.handle(.tick, at: self.at(3))
        let portal = Connectivity.portal(location: "http://login.example/")
        #expect(machine.handle(.finished(.ipv4, round: 4, portal), at: self.at(3)) == [.level(.ipv4, portal)])
    }

    @Test("A portal at the start counts at once, and a success after one failure goes straight to online")
    func firstAnswer() {
        let portal = Connectivity.portal(location: "http://login.example/")
        var machine = self.checking()
        #expect(machine.handle(.finished(.ipv4, round: 2, portal), at: self.at(0)) == [.level(.ipv4, portal)])
        machine = self.checking()
        #expect(machine.handle(.finished(.ipv4, round: 2, .none), at: self.at(0)).isEmpty)
        _ = machine.handle(.tick, at: self.at(1))
        #expect(machine.handle(.finished(.ipv4, round: 3, .full), at: self.at(1)) == [.level(.ipv4, .full)])
    }

    @Test("A lost path drops the level at once, and its late result is ignored")
    func loss() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(0))
        #expect(machine.handle(.path(.ipv4, nil), at: self.at(5)) == [.level(.ipv4, .unknown)])
        #expect(machine.deadline == nil)
        #expect(machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(6)).isEmpty)
    }

    @Test("Another path resets the state; the same one, renamed, does not")
    func move() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(0))
        var renamed = self.path()
        renamed.interface = "wan"
        #expect(machine.handle(.path(.ipv4, renamed), at: self.at(1)).isEmpty)
        #expect(machine.connectivity(.ipv4) == .full)
        #expect(machine.handle(.path(.ipv4, self.path(0x0A00_0009)), at: self.at(2)) == [.level(.ipv4, .unknown)])
        #expect(machine.deadline == self.at(2))
        #expect(machine.handle(.tick, at: self.at(2)).count == 1)
        #expect(machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(3)).isEmpty, "the old path's answer")
    }

    @Test("Over a metered path at least a minute lies between checks, also if the path comes and goes")
    func metered() {
        var machine = self.checking(metered: .yes)
        _ = machine.handle(.finished(.ipv4, round: 2, .none), at: self.at(1))
        #expect(machine.deadline == self.at(60))
        _ = machine.handle(.path(.ipv4, nil), at: self.at(10))
        _ = machine.handle(.path(.ipv4, self.path(metered: .yes)), at: self.at(20))
        #expect(machine.deadline == self.at(60))
    }

    @Test("A failed request causes a check within a second, but not all the time")
    func suspicion() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .full), at: self.at(0))
        _ = machine.handle(.requestFailed, at: self.at(100))
        #expect(machine.deadline == self.at(101))
        _ = machine.handle(.tick, at: self.at(101))
        _ = machine.handle(.finished(.ipv4, round: 3, .full), at: self.at(102))
        _ = machine.handle(.requestFailed, at: self.at(110))
        #expect(machine.deadline == self.at(402), "it has just been checked")
        _ = machine.handle(.requestFailed, at: self.at(131))
        #expect(machine.deadline == self.at(132))
    }

    @Test("A request that succeeds counts as a check, unless it is older than the last one")
    func requestSucceeded() {
        var machine = self.checking()
        _ = machine.handle(.finished(.ipv4, round: 2, .none), at: self.at(10))
        #expect(machine.handle(.requestSucceeded(.ipv4, at: self.at(-1)), at: self.at(11)).isEmpty)
        #expect(machine.handle(.requestSucceeded(.ipv4, at: self.at(10.5)), at: self.at(11)) == [.level(.ipv4, .full)])
        #expect(machine.deadline == self.at(311), "the check is skipped")
    }

    @Test("Each family is checked separately")
    func families() throws {
        var machine = self.checking()
        _ = machine.handle(.path(.ipv6, NetworkPath(interface: "eth0", index: 77)), at: self.at(0))
        let effects = machine.handle(.tick, at: self.at(0))
        let round = try #require(InternetMachineTests.round(effects, .ipv6))
        #expect(effects == [.check(.ipv6, round: round)], "IPv4 is being checked already")
        #expect(machine.handle(.finished(.ipv6, round: round, .full), at: self.at(1)) == [.level(.ipv6, .full)])
        #expect(machine.connectivity(.ipv6) == .full && machine.connectivity(.ipv4) == .unknown)
    }
}

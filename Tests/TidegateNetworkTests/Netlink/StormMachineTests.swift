internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork

/// The begin and end of route storms.
struct StormMachineTests {
    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    /// The time in milliseconds at which these batches become a storm.
    private func entry(_ batches: [(Int, count: Int)]) -> Int? {
        var machine = StormMachine()
        for (moment, count) in batches
        where machine.handle(.routeMessages(count), at: self.at(moment)) == .leaveRouteGroups {
            #expect(machine.isStorm)
            return moment
        }
        return nil
    }

    @Test("Two hundred route messages per second for a second are a storm")
    func rate() {
        let steady = stride(from: 0, through: 5000, by: 100).map { ($0, count: 25) }
        #expect(self.entry(steady) == 1700, "eight batches make two hundred, and one more second")
        let fast = stride(from: 0, through: 5000, by: 10).map { ($0, count: 1000) }
        #expect(self.entry(fast) == 1000)
        let bursts = stride(from: 0, through: 5000, by: 500).map { ($0, count: 1000) }
        #expect(self.entry(bursts) == 1000, "independent of the size of a batch")
    }

    @Test(
        "Single bursts, slow steady messages and bursts with pauses are no storm",
        arguments: [
            [(0, 400), (1500, 1)], [(0, 5000), (1001, 1)], [(0, 5000), (999, 1), (1000, 1), (1999, 1)],
            [(0, 5000), (1950, 1)], [(0, 5000), (5000, 1)], [(0, 300), (400, 300), (1400, 300), (1800, 10), (2900, 1)],
            stride(from: 0, to: 30_000, by: 1000).map { ($0, 150) },
            stride(from: 0, to: 30_000, by: 1200).map { ($0, 5000) },
            stride(from: 0, to: 30_000, by: 6).map { ($0, 1) },
        ])
    func calm(batches: [(Int, Int)]) {
        #expect(self.entry(batches.map { ($0.0, count: $0.1) }) == nil)
    }

    @Test("After a storm the rate starts at zero")
    func anew() {
        var machine = StormMachine()
        for moment in stride(from: 0, through: 1010, by: 10) {
            _ = machine.handle(.routeMessages(100), at: self.at(moment))
        }
        #expect(machine.handle(.tick, at: self.at(11_010)) == .joinRouteGroups)
        #expect(machine.handle(.routeMessages(5000), at: self.at(11_011)) == nil)
        #expect(machine.handle(.routeMessages(1), at: self.at(12_100)) == nil)
        #expect(!machine.isStorm)
    }

    @Test("Two overruns in ten seconds are a storm; one, or two further apart, are not")
    func overruns() {
        var machine = StormMachine()
        #expect(machine.handle(.overrun, at: self.at(0)) == nil)
        #expect(machine.handle(.overrun, at: self.at(11_000)) == nil)
        #expect(machine.handle(.overrun, at: self.at(15_000)) == .leaveRouteGroups)
    }

    @Test("A storm ends after ten quiet seconds, and an overrun restarts them")
    func end() {
        var machine = StormMachine()
        _ = machine.handle(.overrun, at: self.at(0))
        _ = machine.handle(.overrun, at: self.at(1))
        #expect(machine.handle(.tick, at: self.at(9000)) == nil)
        #expect(machine.handle(.overrun, at: self.at(9500)) == nil)
        #expect(machine.handle(.tick, at: self.at(19_000)) == nil)
        #expect(machine.handle(.tick, at: self.at(19_500)) == .joinRouteGroups)
        #expect(!machine.isStorm)
        #expect(machine.handle(.overrun, at: self.at(20_000)) == nil)
    }
}

internal import Testing
internal import TidegateModel
internal import TidegateNetlink

/// When a route storm begins and ends.
struct StormMachineTests {
    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    @Test("Two hundred route messages a second for a second are a storm")
    func rate() {
        var machine = StormMachine()
        var effects: [StormMachine.Effect] = []
        for tenth in 0...10 {
            if let effect = machine.handle(.routeMessages(25), at: self.at(100 * tenth)) { effects.append(effect) }
        }
        #expect(effects == [.leaveRouteGroups] && machine.isStorm)
    }

    @Test("A short burst is none, nor is a steady trickle")
    func calm() {
        var machine = StormMachine()
        #expect(machine.handle(.routeMessages(5000), at: self.at(0)) == nil)
        #expect(machine.handle(.routeMessages(1), at: self.at(5000)) == nil)
        for second in 6..<30 { #expect(machine.handle(.routeMessages(50), at: self.at(1000 * second)) == nil) }
        #expect(!machine.isStorm)
    }

    @Test("Two overruns in ten seconds are a storm; one, or two far apart, are not")
    func overruns() {
        var machine = StormMachine()
        #expect(machine.handle(.overrun, at: self.at(0)) == nil)
        #expect(machine.handle(.overrun, at: self.at(11_000)) == nil)
        #expect(machine.handle(.overrun, at: self.at(15_000)) == .leaveRouteGroups)
    }

    @Test("A storm ends after ten quiet seconds, and trouble begins them anew")
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

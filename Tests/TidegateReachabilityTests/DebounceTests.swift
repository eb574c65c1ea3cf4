internal import Testing
@testable internal import TidegateCore

@testable internal import TidegateReachability

/// When verdicts take effect for gates, and when they are published.
struct DebounceTests {
    private let routed = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
    private let none = Verdict(level: .none, reason: .noCarrier)

    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func input(_ verdict: Verdict, _ times: VerdictDebouncer.Times = .usual) -> VerdictDebouncer.Input {
        .verdict(verdict, times, detection: nil)
    }

    @Test("The first verdict and every loss take effect at once")
    func loss() {
        var machine = VerdictDebouncer()
        #expect(machine.handle(self.input(self.routed), at: self.at(0)).count == 2)
        let effects = machine.handle(self.input(self.none), at: self.at(700))
        #expect(
            effects == [.gatingChanged, .published(from: self.routed, lasted: .milliseconds(700), detection: nil)])
        #expect(machine.deadline == nil)
    }

    @Test("A gain takes effect for gates after 200 ms and is published after 500 ms")
    func gain() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        #expect(machine.handle(self.input(self.routed), at: self.at(1000)).isEmpty)
        #expect(machine.deadline == self.at(1200))
        #expect(machine.handle(.tick, at: self.at(1199)).isEmpty)
        #expect(machine.handle(.tick, at: self.at(1200)) == [.gatingChanged])
        #expect(machine.gating.verdict == self.routed && machine.published.verdict == self.none)
        #expect(machine.deadline == self.at(1500))
        #expect(
            machine.handle(.tick, at: self.at(1500))
                == [.published(from: self.none, lasted: .milliseconds(1500), detection: nil)])
    }

    @Test("A gain that does not last never takes effect; the next one starts a new wait")
    func flicker() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        _ = machine.handle(self.input(self.routed), at: self.at(1000))
        #expect(machine.handle(self.input(self.none), at: self.at(1100)).isEmpty)
        #expect(machine.deadline == nil)
        _ = machine.handle(self.input(self.routed), at: self.at(1150))
        #expect(machine.handle(.tick, at: self.at(1300)).isEmpty)
        #expect(machine.deadline == self.at(1350))
    }

    @Test("A gain on the way to a better one does not count for it")
    func steps() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        _ = machine.handle(self.input(Verdict(level: .local, reason: .noRoute)), at: self.at(1000))
        _ = machine.handle(self.input(self.routed), at: self.at(1190))
        #expect(machine.handle(.tick, at: self.at(1200)).isEmpty, "routed for only 10 ms")
        #expect(machine.handle(.tick, at: self.at(1390)) == [.gatingChanged])
        #expect(machine.gating.verdict == self.routed)
    }

    @Test("A gain over a flapping link has to be stable for five seconds, also one that was already pending")
    func flapping() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        _ = machine.handle(self.input(self.routed), at: self.at(1000))
        _ = machine.handle(self.input(self.routed, .flapping(.seconds(5))), at: self.at(1100))
        #expect(machine.gating.verdict?.reason != .flapping, "it would not have counted either")
        #expect(machine.deadline == self.at(1200))
        #expect(machine.handle(.tick, at: self.at(1200)) == [.gatingChanged])
        #expect(machine.gating.verdict?.reason == .flapping)
        #expect(machine.deadline == self.at(1500))
        _ = machine.handle(.tick, at: self.at(1500))
        #expect(machine.published.verdict?.reason == .flapping)
        #expect(machine.deadline == self.at(6000))
    }

    @Test("Another path at the same level takes effect at once; the same verdict has none")
    func change() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.routed), at: self.at(0))
        #expect(machine.handle(self.input(self.routed), at: self.at(10)).isEmpty)
        let moved = Verdict(level: .routed, path: NetworkPath(interface: "wlan0", index: 3))
        #expect(machine.handle(self.input(moved), at: self.at(20)).count == 2)
        var renamed = moved
        renamed.path?.interface = "wan0"
        #expect(machine.handle(self.input(renamed), at: self.at(30)) == [.gatingChanged])
        #expect(machine.published.verdict == renamed, "status shows the new name without an event")
    }

    @Test("A loss of netlink takes effect at once, and so does the next verdict")
    func unavailableReason() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        #expect(machine.handle(self.input(.unknown), at: self.at(10)).count == 2)
        #expect(machine.handle(self.input(self.none), at: self.at(20)).count == 2)
        _ = machine.handle(self.input(.unknown), at: self.at(30))
        #expect(machine.handle(self.input(self.routed), at: self.at(40)).count == 2)
    }

    @Test("The verdict on a new question takes effect at once")
    func newQuestion() {
        var machine = VerdictDebouncer()
        _ = machine.handle(self.input(self.none), at: self.at(0))
        machine.reset()
        #expect(machine.handle(self.input(self.routed), at: self.at(10)).count == 2)
        _ = machine.handle(self.input(self.none), at: self.at(20))
        #expect(machine.handle(self.input(self.routed), at: self.at(30)).isEmpty)
    }

    @Test("The first message is evaluated at once, a burst together, a loss without delay")
    func throttling() {
        var throttle = EvaluationThrottle()
        #expect(throttle.schedule(at: self.at(0), isLoss: false, isStorm: false) == .now)
        throttle.didEvaluate()
        #expect(throttle.schedule(at: self.at(5), isLoss: false, isStorm: false) == .at(self.at(25)))
        #expect(throttle.schedule(at: self.at(20), isLoss: false, isStorm: false) == .at(self.at(40)))
        #expect(throttle.schedule(at: self.at(39), isLoss: false, isStorm: false) == .at(self.at(55)), "50 ms at most")
        #expect(throttle.schedule(at: self.at(41), isLoss: true, isStorm: false) == .now)
        throttle.didEvaluate()
        #expect(throttle.schedule(at: self.at(61), isLoss: false, isStorm: false) == .now)
    }

    @Test("A long evaluation is followed by as long a pause, also for losses")
    func pause() {
        var throttle = EvaluationThrottle()
        _ = throttle.schedule(at: self.at(0), isLoss: true, isStorm: false)
        throttle.didEvaluate()
        throttle.pause(for: .milliseconds(50), from: self.at(50))
        #expect(throttle.schedule(at: self.at(60), isLoss: true, isStorm: false) == .at(self.at(100)))
        #expect(throttle.schedule(at: self.at(95), isLoss: false, isStorm: false) == .at(self.at(100)), "nor postponed")
        throttle.didEvaluate()
        throttle.pause(for: .milliseconds(1), from: self.at(101))
        #expect(throttle.schedule(at: self.at(150), isLoss: true, isStorm: false) == .now)
    }

    @Test("In a storm everything waits for 250 ms")
    func stormThrottling() {
        var throttle = EvaluationThrottle()
        _ = throttle.schedule(at: self.at(0), isLoss: false, isStorm: true)
        throttle.didEvaluate()
        #expect(throttle.schedule(at: self.at(5), isLoss: true, isStorm: true) == .at(self.at(255)))
        #expect(throttle.schedule(at: self.at(100), isLoss: false, isStorm: true) == .at(self.at(255)))
    }

    @Test("Three carrier losses in half a minute are a flapping link, by the kernel's own count")
    func flaps() {
        func link(_ losses: UInt32?, carrier: Bool = true) -> Link {
            Link(
                name: "eth0", index: 77, kind: .ethernet, isAdminUp: true, hasCarrier: carrier, operState: .up,
                reason: nil,
                carrierLosses: losses)
        }
        var counter = FlapCounter()
        counter.observe([link(7)], at: self.at(0))
        #expect(counter.hold(77, 0, at: self.at(0)) == nil, "what was before does not count")
        counter.observe([link(9)], at: self.at(100))
        #expect(counter.hold(77, 0, at: self.at(100)) == nil)
        counter.observe([link(10)], at: self.at(200))
        #expect(counter.hold(77, 0, at: self.at(200)) == .seconds(5))
        #expect(counter.hold(77, 0, at: self.at(14_200)) == .seconds(1), "15 s in all")
        #expect(counter.hold(77, 0, at: self.at(15_200)) == nil)
        #expect(counter.hold(77, 1, at: self.at(200)) == nil, "another link with the same index")
        counter.observe([link(13)], at: self.at(29_000))
        #expect(counter.hold(77, 0, at: self.at(29_000)) == nil, "less than 30 s without a loss")
        counter.observe([link(13)], at: self.at(60_000))
        counter.observe([link(16)], at: self.at(60_100))
        #expect(counter.hold(77, 0, at: self.at(60_100)) == .seconds(5))
        var seen = FlapCounter()
        for turn in 0..<6 { seen.observe([link(nil, carrier: turn % 2 == 0)], at: self.at(turn)) }
        #expect(seen.hold(77, 0, at: self.at(6)) != nil)
    }

    @Test("A link that is up 2.3 seconds of every 3 lets requests through for most of that time")
    func flappingForLong() {
        var counter = FlapCounter()
        var machine = VerdictDebouncer()
        var losses: UInt32 = 0
        var (up, open) = (0, 0)
        for time in stride(from: 0, to: 540_000, by: 10) {
            let phase = time % 3000
            let hasCarrier = phase < 2300
            if phase == 2300 { losses += 1 }
            if phase == 0 || phase == 2300 {
                let link = Link(
                    name: "eth0", index: 77, kind: .ethernet, isAdminUp: true, hasCarrier: hasCarrier,
                    operState: hasCarrier ? .up : .down, reason: hasCarrier ? nil : .noCarrier, carrierLosses: losses)
                counter.observe([link], at: self.at(time))
                let times = counter.hold(77, 0, at: self.at(time)).map(VerdictDebouncer.Times.flapping) ?? .usual
                let verdict = hasCarrier ? self.routed : Verdict(level: .local, reason: .noCarrier)
                _ = machine.handle(self.input(verdict, times), at: self.at(time))
            }
            _ = machine.handle(.tick, at: self.at(time))
            if hasCarrier { up += 1 }
            if machine.gating.verdict?.level == .routed { open += 1 }
        }
        #expect(open * 100 >= up * 70, "\(open) of \(up)")
        #expect(machine.gating.verdict?.reason != .flapping)
    }
}

import Testing
import Tidegate
import TidegateTestKit

/// How a direction of an emulated link treats frames, with moments instead of a clock.
@Suite struct LinkMachineTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    /// The fates of frames of 1000 bytes that enter one after the other.
    private func fates(
        of count: Int, every interval: Duration, seed: UInt64 = 1, through shape: LinkShape
    ) -> [LinkMachine.Fate] {
        var machine = LinkMachine(SeededGenerator(seed: seed))
        return (0..<count).map {
            machine.pass(bytes: 1000, isARP: false, at: Self.start + interval * $0, through: shape)
        }
    }

    private func arrivals(_ fates: [LinkMachine.Fate]) -> [Duration] {
        fates.compactMap { if case .arrives(let moment) = $0 { moment - Self.start } else { nil } }
    }

    @Test("A perfect cable delivers every frame immediately, and a delay moves all by the same time")
    func delay() {
        let sent = (0..<3).map { Duration.milliseconds($0) }
        #expect(self.arrivals(self.fates(of: 3, every: .milliseconds(1), through: LinkShape())) == sent)
        let delayed = self.fates(of: 3, every: .milliseconds(1), through: LinkShape(delay: .milliseconds(30)))
        #expect(self.arrivals(delayed) == sent.map { $0 + .milliseconds(30) })
    }

    @Test("A rate sends one frame after the other, and the delay follows")
    func rate() {
        // 1000 bytes at 8 Mbit/s take 1 ms.
        let shape = LinkShape(delay: .milliseconds(5), bitsPerSecond: 8_000_000)
        #expect(
            self.arrivals(self.fates(of: 3, every: .zero, through: shape))
                == [6, 7, 8].map { Duration.milliseconds($0) })
        #expect(
            self.arrivals(self.fates(of: 3, every: .milliseconds(4), through: shape))
                == [6, 10, 14].map { Duration.milliseconds($0) })
    }

    @Test("The queue drops what does not fit in, and has room again when frames have left")
    func queue() {
        let shape = LinkShape(bitsPerSecond: 8_000_000, queueBytes: 2_999)
        #expect(
            self.fates(of: 4, every: .zero, through: shape).map { $0 == .overflowed } == [false, false, true, true])
        // A frame leaves each millisecond; of those that enter twice as often, every other one fits in.
        let fates = self.fates(of: 40, every: .microseconds(500), through: shape)
        #expect(fates.count { $0 == .overflowed } == 19, "\(fates)")
        #expect(
            self.arrivals(fates).suffix(3).map { $0 / .milliseconds(1) } == [19, 20, 21], "the line was idle: \(fates)")
    }

    @Test("A change of the rate holds for the frames that follow, which do not overtake")
    func changedRate() {
        var machine = LinkMachine(SeededGenerator(seed: 1))
        let fates = [LinkShape(bitsPerSecond: 80_000), LinkShape()].map {
            machine.pass(bytes: 1000, isARP: false, at: Self.start, through: $0)
        }
        #expect(self.arrivals(fates) == [.milliseconds(100), .milliseconds(100)])
    }

    @Test("Jitter stays within its bound and keeps the order")
    func jitter() {
        let shape = LinkShape(delay: .milliseconds(10), jitter: .milliseconds(20))
        let arrivals = self.arrivals(self.fates(of: 1000, every: .milliseconds(1), through: shape))
        #expect(arrivals == arrivals.sorted())
        let delays = arrivals.enumerated().map { $1 - .milliseconds($0) }
        #expect(delays.allSatisfy { (.milliseconds(10)...(.milliseconds(30))).contains($0) })
        // The order makes early frames wait for late ones: their delays are in the upper half more often.
        #expect(delays.contains { $0 > .milliseconds(28) } && delays.contains { $0 < .milliseconds(22) })
    }

    @Test("Loss loses its share: the same frames with the same seed, whatever the delays are")
    func loss() {
        func lost(seed: UInt64, _ jitter: Duration) -> [Int] {
            let fates = self.fates(
                of: 10_000, every: .milliseconds(1), seed: seed, through: LinkShape(jitter: jitter, loss: 0.1))
            return fates.indices.filter { fates[$0] == .lost }
        }
        let first = lost(seed: 1, .zero)
        // Three standard deviations are 90.
        #expect((900...1100).contains(first.count), "\(first.count)")
        #expect(lost(seed: 1, .milliseconds(5)) == first)
        #expect(lost(seed: 2, .zero) != first)
        #expect(self.fates(of: 100, every: .zero, through: LinkShape(loss: 1)).allSatisfy { $0 == .lost })
    }

    @Test("A lost frame has used the rate")
    func lossAfterRate() {
        var machine = LinkMachine(SeededGenerator(seed: 1))
        let fates = [1, 0].map {
            machine.pass(
                bytes: 1000, isARP: false, at: Self.start, through: LinkShape(loss: $0, bitsPerSecond: 8_000_000))
        }
        #expect(fates == [.lost, .arrives(at: Self.start + .milliseconds(2))])
    }

    @Test("Reordering makes its share skip the delay")
    func reordering() {
        let shape = LinkShape(delay: .milliseconds(10), jitter: .milliseconds(1), reordering: 0.25)
        let arrivals = self.arrivals(self.fates(of: 10_000, every: .milliseconds(1), through: shape))
        let early = arrivals.indices.count { arrivals[$0] == .milliseconds($0) }
        #expect((2_350...2_650).contains(early), "\(early)")
        #expect(
            arrivals.indices.allSatisfy { arrivals[$0] == .milliseconds($0) || arrivals[$0] >= .milliseconds($0 + 10) })
    }

    @Test("ARP has the delay and nothing else")
    func neighbours() {
        let shape = LinkShape(
            delay: .milliseconds(3), jitter: .seconds(1), loss: 1, reordering: 1, bitsPerSecond: 8, queueBytes: 0)
        var machine = LinkMachine(SeededGenerator(seed: 1))
        let fates = (0..<100).map { _ in machine.pass(bytes: 42, isARP: true, at: Self.start, through: shape) }
        #expect(Set(fates) == [.arrives(at: Self.start + .milliseconds(3))])
    }
}

import Testing
import TidegateCore

@testable import TidegateConnections

struct OutcomeWindowTests {
    private var window = OutcomeWindow()

    private static func moment(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: (10_000 + seconds) * 1_000_000_000)
    }

    private static func interval(
        age: Int, succeeded: Int = 0, _ failures: [FaultParty: Int] = [:]
    ) -> RemoteReport.Interval {
        var interval = RemoteReport.Interval(age: .seconds(age))
        (interval.succeeded, interval.failures) = (succeeded, failures)
        return interval
    }

    @Test("Outcomes are counted for five minutes, and in intervals of ten seconds")
    mutating func counts() {
        for second in [0, 1, 9, 10, 25] as [UInt64] { self.window.add(.established, at: Self.moment(second)) }
        self.window.add(.closed, at: Self.moment(25))
        #expect(self.window.counts(at: Self.moment(25)) == [.established: 5, .closed: 1])
        #expect(
            self.window.history(at: Self.moment(25)) == [
                Self.interval(age: 20, succeeded: 3), Self.interval(age: 10, succeeded: 1),
                Self.interval(age: 0, succeeded: 2),
            ])
        #expect(self.window.counts(at: Self.moment(300)) == [.established: 2, .closed: 1])
        #expect(self.window.history(at: Self.moment(310)) == [Self.interval(age: 290, succeeded: 2)])
        self.window.add(.aborted, at: Self.moment(400))
        #expect(self.window.counts(at: Self.moment(400)) == [.aborted: 1])
        #expect(self.window.history(at: Self.moment(400)).isEmpty, "of neither kind")
    }

    @Test("A failure belongs to its own moment, however late its party is decided")
    mutating func parties() {
        for _ in 0..<3 { self.window.add(.refused, at: Self.moment(5)) }
        self.window.add(.lost, at: Self.moment(12))
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs)
        #expect(self.window.failures(at: Self.moment(13)) == [.refused: [.theirs: 1]])
        #expect(
            self.window.history(at: Self.moment(13)) == [
                Self.interval(age: 10, [.theirs: 1, .unknown: 2]), Self.interval(age: 0, [.unknown: 1]),
            ])
        self.window.attribute(.lost, of: Self.moment(12), to: .unknown)
        self.window.attribute(.refused, of: Self.moment(5), to: .mine)
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs)
        #expect(
            self.window.history(at: Self.moment(13)) == [
                Self.interval(age: 10, [.theirs: 2, .mine: 1]), Self.interval(age: 0, [.unknown: 1]),
            ])
        #expect(self.window.counts(at: Self.moment(14)) == [.refused: 3, .lost: 1])
    }

    @Test("Whose failure a forgotten outcome was changes nothing")
    mutating func forgotten() {
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs)
        #expect(self.window.failures(at: Self.moment(6)).isEmpty && self.window.history(at: Self.moment(6)).isEmpty)
        self.window.add(.refused, at: Self.moment(15))
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs)
        #expect(self.window.history(at: Self.moment(15)) == [Self.interval(age: 0, [.unknown: 1])])
    }

    @Test("More than sixty thousand of one kind in an interval are counted exactly")
    mutating func many() {
        let now = Self.moment(0)
        for _ in 0..<70_000 {
            self.window.add(.closed, at: now)
            self.window.add(.refused, at: now)
            self.window.attribute(.refused, of: now, to: .theirs)
        }
        #expect(self.window.counts(at: now) == [.refused: 70_000, .closed: 70_000])
        #expect(self.window.history(at: now) == [Self.interval(age: 0, succeeded: 70_000, [.theirs: 70_000])])
        #expect(self.window.tallies.count == 4)
    }

    @Test("A remote that fails in every way for every party takes a kilobyte at most; the oldest goes first")
    mutating func bounded() {
        #expect(MemoryLayout<OutcomeWindow.Tally>.stride == 8)
        for interval in 0..<30 {
            let now = Self.moment(UInt64(10 * interval))
            for outcome in ConnectionOutcome.allCases where outcome.isFailure {
                for party in FaultParty.allCases {
                    self.window.add(outcome, at: now)
                    self.window.attribute(outcome, of: now, to: party)
                    #expect(self.window.tallies.count <= OutcomeWindow.limit)
                }
            }
        }
        #expect(self.window.tallies.count == 120)
        let history = self.window.history(at: Self.moment(299))
        #expect(history.map(\.age) == [.seconds(20), .seconds(10), .zero])
        #expect(history.map { $0.failures.values.reduce(0, +) } == [36, 42, 42])
    }
}

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

    @Test("A failure belongs to its own moment, however late it is decided whose it was")
    mutating func parties() {
        for _ in 0..<3 { self.window.add(.refused, at: Self.moment(5)) }
        self.window.add(.lost, at: Self.moment(12))
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs, at: Self.moment(13))
        #expect(self.window.failures(at: Self.moment(13)) == [.refused: [.theirs: 1]])
        #expect(
            self.window.history(at: Self.moment(13)) == [
                Self.interval(age: 10, [.theirs: 1, .unknown: 2]), Self.interval(age: 0, [.unknown: 1]),
            ])
        self.window.attribute(.lost, of: Self.moment(12), to: .unknown, at: Self.moment(14))
        self.window.attribute(.refused, of: Self.moment(5), to: .mine, at: Self.moment(14))
        self.window.attribute(.refused, of: Self.moment(5), to: .theirs, at: Self.moment(14))
        #expect(
            self.window.history(at: Self.moment(13)) == [
                Self.interval(age: 10, [.theirs: 2, .mine: 1]), Self.interval(age: 0, [.unknown: 1]),
            ])
        #expect(self.window.counts(at: Self.moment(14)) == [.refused: 3, .lost: 1])
    }
}

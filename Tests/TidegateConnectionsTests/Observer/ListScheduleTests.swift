import Testing
import TidegateCore
import TidegateNetwork

@testable import TidegateConnections

/// When live connections are listed.
struct ListScheduleTests {
    private static func counters(
        opened: UInt64 = 0, retransmitted: UInt64 = 0, established: UInt64 = 0
    ) -> TCPCounters {
        var counters = TCPCounters()
        counters.established = established
        (counters.activeOpens, counters.retransmittedSegments) = (opened, retransmitted)
        return counters
    }

    private static func moment(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("Opening connections are listed while there are some, and when more were opened")
    func connecting() {
        var schedule = ListSchedule()
        #expect(schedule.needsConnecting)
        schedule.count(Self.counters(opened: 5))
        schedule.didListConnecting(1)
        #expect(schedule.needsConnecting)
        schedule.didListConnecting(0)
        #expect(!schedule.needsConnecting)
        schedule.count(Self.counters(opened: 6))
        #expect(schedule.needsConnecting)
        // A kernel that does not say how many were opened.
        schedule.didListConnecting(0)
        schedule.count(nil)
        #expect(schedule.needsConnecting)
    }

    @Test("A request gets a new list if the last one is half a second old, and took less than 5 ms")
    func onDemand() {
        var schedule = ListSchedule()
        #expect(schedule.isDue(at: Self.moment(0)))
        schedule.didListEstablished(at: Self.moment(1000), took: .milliseconds(4))
        #expect(!schedule.isDue(at: Self.moment(1499)))
        #expect(schedule.isDue(at: Self.moment(1500)))
        schedule.didListEstablished(at: Self.moment(2000), took: .milliseconds(5))
        #expect(!schedule.isDue(at: Self.moment(9000)))
    }

    @Test("A second with retransmissions is suspicious, also if the counters were read for a list meanwhile")
    func suspicious() {
        var schedule = ListSchedule()
        schedule.secondPassed(Self.counters(retransmitted: 7))
        #expect(!schedule.isSuspicious)
        schedule.count(Self.counters(retransmitted: 8))
        schedule.secondPassed(Self.counters(retransmitted: 8))
        #expect(schedule.isSuspicious)
        schedule.secondPassed(Self.counters(retransmitted: 8))
        #expect(!schedule.isSuspicious)
    }

    @Test("Lists take at most a hundredth of the time, and come every second while something hangs")
    func pause() {
        func pause(_ milliseconds: Int, isAnythingStalled: Bool = false) -> Duration {
            ListSchedule.pause(
                after: .milliseconds(milliseconds), every: .seconds(5), isAnythingStalled: isAnythingStalled)
        }
        #expect(pause(1) == .seconds(5))
        #expect(pause(80) == .seconds(8))
        // Perhaps the machine slept.
        #expect(pause(3_600_000) == .seconds(60))
        #expect(pause(1, isAnythingStalled: true) == .seconds(1))
        // A second would not be enough for them.
        #expect(pause(5, isAnythingStalled: true) == .seconds(5))
    }

    @Test("A list that took long is made again soon if most of its connections have gone")
    func outdated() {
        var schedule = ListSchedule()
        #expect(!schedule.isOutdated(at: Self.moment(0)))
        schedule.count(Self.counters(established: 50_000))
        schedule.didListEstablished(at: Self.moment(1000), took: .milliseconds(320))
        schedule.secondPassed(Self.counters(established: 30_000))
        #expect(!schedule.isOutdated(at: Self.moment(31_000)))
        schedule.secondPassed(Self.counters(established: 5000))
        #expect(!schedule.isOutdated(at: Self.moment(4100)), "a list of 32 ms after 3.2 s")
        #expect(schedule.isOutdated(at: Self.moment(4200)))
        schedule.secondPassed(Self.counters(established: 0))
        #expect(!schedule.isOutdated(at: Self.moment(1900)) && schedule.isOutdated(at: Self.moment(2000)))
        schedule.secondPassed(nil)
        #expect(!schedule.isOutdated(at: Self.moment(9000)), "the kernel does not say")
        schedule.didListEstablished(at: Self.moment(9000), took: .milliseconds(4))
        #expect(!schedule.isOutdated(at: Self.moment(99_000)), "short ones come anyway")
    }

    @Test("What may be about to hang is looked at again soon, by one list at a time")
    func suspects() {
        var schedule = ListSchedule()
        #expect(schedule.suspectPause(after: .milliseconds(1)) == .milliseconds(250))
        #expect(schedule.suspectPause(after: .milliseconds(1)) == nil)
        schedule.suspectPauseEnded()
        #expect(schedule.suspectPause(after: .milliseconds(4)) == .milliseconds(400))
        schedule.suspectPauseEnded()
        #expect(schedule.suspectPause(after: .milliseconds(5)) == nil)
    }
}

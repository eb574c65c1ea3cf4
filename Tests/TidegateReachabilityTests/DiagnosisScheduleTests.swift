import Testing
import TidegateCore
@testable import TidegateReachability

/// When a sidecar diagnoses its host.
@Suite struct DiagnosisScheduleTests {
    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000 + UInt64(seconds * 1_000_000_000))
    }

    @Test("Nothing is due before something happens")
    func idle() { #expect(DiagnosisSchedule().deadline == nil) }

    @Test("A change is diagnosed once it has lasted a second; a further change begins the second again")
    func change() {
        var schedule = DiagnosisSchedule().after(.changed, at: self.at(0))
        #expect(schedule.deadline == self.at(1))
        schedule = schedule.after(.changed, at: self.at(0.8))
        #expect(schedule.deadline == self.at(1.8))
    }

    @Test("While something is bad, every 5 seconds, after a minute every 10; once it is good, no more")
    func bad() {
        var schedule = DiagnosisSchedule().after(.began, at: self.at(0)).after(.ended(isBad: true), at: self.at(2))
        #expect(schedule.deadline == self.at(5))
        schedule = schedule.after(.began, at: self.at(5))
        #expect(schedule.deadline == nil, "one at a time")
        #expect(schedule.after(.ended(isBad: false), at: self.at(6)).deadline == nil)
        schedule = schedule.after(.ended(isBad: true), at: self.at(6)).after(.began, at: self.at(62))
        #expect(schedule.after(.ended(isBad: true), at: self.at(63)).deadline == self.at(72))
    }

    @Test("An answer is no reason for a diagnosis, except in an outage")
    func answered() {
        #expect(DiagnosisSchedule().after(.answered, at: self.at(0)).deadline == nil)
        let bad = DiagnosisSchedule().after(.began, at: self.at(0)).after(.ended(isBad: true), at: self.at(1))
        #expect(bad.after(.answered, at: self.at(1.5)).deadline == self.at(3))
        let good = bad.after(.began, at: self.at(3)).after(.ended(isBad: false), at: self.at(4))
        #expect(good.after(.answered, at: self.at(9)).deadline == nil)
    }

    @Test("A path that is lost is diagnosed immediately, at most once a second")
    func lost() {
        let lost = DiagnosisSchedule().after(.lost, at: self.at(0))
        #expect(lost.deadline == self.at(0))
        let ended = lost.after(.began, at: self.at(0)).after(.ended(isBad: false), at: self.at(0.1))
        #expect(ended.after(.lost, at: self.at(0.2)).deadline == self.at(1))
    }

    @Test("However many look at the page, it is once in 15 seconds")
    func viewed() {
        var schedule = DiagnosisSchedule().after(.viewed, at: self.at(0))
        #expect(schedule.deadline == self.at(0), "the first at once")
        schedule = schedule.after(.began, at: self.at(0)).after(.ended(isBad: false), at: self.at(1))
        for second in 2..<10 { schedule = schedule.after(.viewed, at: self.at(Double(second))) }
        #expect(schedule.deadline == self.at(15))
    }

    @Test("A failed attempt is looked into at once, but not more often than every 3 seconds")
    func failed() {
        var schedule = DiagnosisSchedule().after(.failed, at: self.at(0))
        #expect(schedule.deadline == self.at(0))
        schedule = schedule.after(.began, at: self.at(0)).after(.ended(isBad: true), at: self.at(1))
        #expect(schedule.after(.failed, at: self.at(2)).deadline == self.at(3))
        #expect(schedule.after(.failed, at: self.at(4)).deadline == self.at(4))
    }

    @Test("A change during a diagnosis is diagnosed after it")
    func meanwhile() {
        let schedule = DiagnosisSchedule().after(.began, at: self.at(0)).after(.changed, at: self.at(1))
            .after(.ended(isBad: true), at: self.at(2))
        #expect(schedule.deadline == self.at(2))
    }
}

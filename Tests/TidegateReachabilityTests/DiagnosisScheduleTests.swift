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

    @Test("While something is bad, every 15 seconds; once it is good, no more")
    func bad() {
        var schedule = DiagnosisSchedule().after(.began, at: self.at(0)).after(.ended(isBad: true), at: self.at(2))
        #expect(schedule.deadline == self.at(15))
        schedule = schedule.after(.began, at: self.at(15))
        #expect(schedule.deadline == nil, "one at a time")
        #expect(schedule.after(.ended(isBad: false), at: self.at(16)).deadline == nil)
    }

    @Test("However many look at the page, it is once in 15 seconds")
    func viewed() {
        var schedule = DiagnosisSchedule().after(.viewed, at: self.at(0))
        #expect(schedule.deadline == self.at(0), "the first at once")
        schedule = schedule.after(.began, at: self.at(0)).after(.ended(isBad: false), at: self.at(1))
        for second in 2..<10 { schedule = schedule.after(.viewed, at: self.at(Double(second))) }
        #expect(schedule.deadline == self.at(15))
    }

    @Test("A failed attempt is looked into at once, but not more often than every 5 seconds")
    func failed() {
        var schedule = DiagnosisSchedule().after(.failed, at: self.at(0))
        #expect(schedule.deadline == self.at(0))
        schedule = schedule.after(.began, at: self.at(0)).after(.ended(isBad: true), at: self.at(1))
        #expect(schedule.after(.failed, at: self.at(2)).deadline == self.at(5))
        #expect(schedule.after(.failed, at: self.at(7)).deadline == self.at(7))
    }

    @Test("A change during a diagnosis is diagnosed after it")
    func meanwhile() {
        let schedule = DiagnosisSchedule().after(.began, at: self.at(0)).after(.changed, at: self.at(1))
            .after(.ended(isBad: true), at: self.at(2))
        #expect(schedule.deadline == self.at(2))
    }
}

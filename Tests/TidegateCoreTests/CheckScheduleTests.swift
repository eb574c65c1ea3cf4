import Testing
import TidegateTestKit
import TidegateCore

/// When recurring checks run.
struct CheckScheduleTests {

    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func milliseconds(_ moment: MonotonicTime?) -> Int? {
        moment.map { Int(($0 - self.at(0)).wholeNanoseconds / 1_000_000) }
    }

    /// A schedule with its generator, whose transitions can stand in an expectation.
    private final class Fixture {
        var value: CheckSchedule<Int>
        var generator: SeededGenerator

        init(_ ids: Range<Int>, every interval: Duration, jitter: Double, seed: UInt64, at now: MonotonicTime) {
            self.value = CheckSchedule(jitter: jitter)
            self.generator = SeededGenerator(seed: seed)
            for id in ids {
                self.value.add(id, every: interval)
                self.value.resume(id, at: now)
            }
        }

        var deadline: MonotonicTime? { self.value.deadline }

        func tick(at now: MonotonicTime) -> [CheckSchedule<Int>.Turn] {
            self.value.tick(at: now, using: &self.generator)
        }

        func finished(_ id: Int, isInDoubt: Bool, at now: MonotonicTime) -> Bool {
            self.value.finished(id, isInDoubt: isInDoubt, at: now)
        }

        func due(_ id: Int) -> MonotonicTime? { self.value.due(id) }
    }

    private func schedule(
        _ ids: Range<Int>, every interval: Duration, jitter: Double = 0, seed: UInt64 = 1
    ) -> Fixture {
        Fixture(ids, every: interval, jitter: jitter, seed: seed, at: self.at(0))
    }

    @Test("A check runs at once, and then at every interval however long it takes; jitter does not add up")
    func beats() {
        let schedule = self.schedule(0..<1, every: .seconds(10), jitter: 0.1)
        var turns: [Int] = []
        while let due = schedule.deadline, turns.count < 100 {
            #expect(schedule.tick(at: due) == [.run(0)])
            turns.append(self.milliseconds(due) ?? -1)
            #expect(schedule.finished(0, isInDoubt: false, at: due + .milliseconds(700)))
        }
        #expect(turns.first == 0)
        for (number, turn) in turns.enumerated() {
            #expect((0...1000).contains(turn - number * 10_000), "turn \(number) came at \(turn) ms")
        }
        #expect(Set(turns.map { $0 % 10_000 }).count > 50, "every turn has a jitter of its own")
    }

    @Test("A thousand checks start apart from each other, and none misses a beat", arguments: [1, 2, 3] as [UInt64])
    func thousand(seed: UInt64) {
        let schedule = self.schedule(0..<1000, every: .seconds(15), jitter: 0.1, seed: seed)
        var runs = Array(repeating: 0, count: 1000)
        var starts: [Int: Int] = [:]
        while let due = schedule.deadline, due < self.at(150_000) {
            for turn in schedule.tick(at: due) {
                guard case .run(let id) = turn else {
                    Issue.record("\(turn) at \(String(describing: self.milliseconds(due))) ms")
                    continue
                }
                runs[id] += 1
                starts[(self.milliseconds(due) ?? 0) / 100, default: 0] += 1
                _ = schedule.finished(id, isInDoubt: id % 2 == 0, at: due + .milliseconds(50))
            }
        }
        // The first interval is cut short for those that are repeated once their path has settled.
        #expect(runs.allSatisfy { (9...11).contains($0) }, "\(Set(runs))")
        #expect(starts.values.max() ?? 0 <= 40, "at most \(starts.values.max() ?? 0) within 100 ms")
    }

    @Test("A check that still runs at its next turn is an overrun, and is never queued up")
    func overrun() {
        let schedule = self.schedule(0..<1, every: .seconds(1))
        #expect(schedule.tick(at: self.at(0)) == [.run(0)])
        #expect(schedule.tick(at: self.at(1000)) == [.overrun(0)])
        #expect(schedule.tick(at: self.at(2000)) == [.overrun(0)])
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(2500)))
        #expect(self.milliseconds(schedule.deadline) == 3000)
        #expect(schedule.tick(at: self.at(3000)) == [.run(0)])
    }

    @Test("Several turns that were missed while nothing polled are one turn")
    func missed() {
        let schedule = self.schedule(0..<1, every: .seconds(1))
        #expect(schedule.tick(at: self.at(0)) == [.run(0)])
        _ = schedule.finished(0, isInDoubt: false, at: self.at(10))
        #expect(schedule.tick(at: self.at(60_500)) == [.run(0)])
        #expect(self.milliseconds(schedule.deadline) == 61_000)
    }

    @Test("A change of path halves what is left of the wait")
    func pathChange() {
        let schedule = self.schedule(0..<1, every: .seconds(10))
        _ = schedule.tick(at: self.at(0))
        _ = schedule.finished(0, isInDoubt: false, at: self.at(1))
        schedule.value.pathChanged(0, at: self.at(1000))
        #expect(self.milliseconds(schedule.due(0)) == 5500)
        schedule.value.pathChanged(0, at: self.at(5000))
        #expect(self.milliseconds(schedule.due(0)) == 5250)
    }

    @Test("A check without a path waits, and runs at once when there is one again")
    func pause() {
        let schedule = self.schedule(0..<2, every: .seconds(10))
        _ = schedule.tick(at: self.at(10))
        schedule.value.pause(0)
        #expect(schedule.due(0) == nil)
        schedule.value.pathChanged(0, at: self.at(20))
        #expect(schedule.due(0) == nil)
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(30)))
        schedule.value.resume(0, at: self.at(40_000))
        #expect(self.milliseconds(schedule.due(0)) == 40_000)
        schedule.value.resume(0, at: self.at(50_000))
        #expect(self.milliseconds(schedule.due(0)) == 40_000, "it is not paused")
        schedule.value.remove(0)
        schedule.value.remove(1)
        #expect(schedule.deadline == nil && !schedule.finished(1, isInDoubt: false, at: self.at(1)))
    }

    @Test("A failure in doubt does not count until the path has settled, and the check is repeated then")
    func settle() {
        let schedule = self.schedule(0..<1, every: .seconds(10))
        _ = schedule.tick(at: self.at(0))
        #expect(!schedule.finished(0, isInDoubt: true, at: self.at(100)))
        #expect(self.milliseconds(schedule.due(0)) == 3100)
        _ = schedule.tick(at: self.at(3100))
        #expect(schedule.finished(0, isInDoubt: true, at: self.at(3200)), "the path has settled")
        #expect(self.milliseconds(schedule.due(0)) == 13_100)
        schedule.value.pathChanged(0, at: self.at(4000))
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(4100)), "an answer counts at any time")
    }

    @Test("A check can be hastened, never delayed, and its result counts; a paused one stays paused")
    func hasten() {
        let schedule = Fixture(0..<2, every: .seconds(15), jitter: 0, seed: 1, at: self.at(0))
        while let due = schedule.deadline, due < self.at(15_000) { _ = schedule.tick(at: due) }
        _ = schedule.finished(0, isInDoubt: false, at: self.at(2_000))
        let planned = schedule.value.due(0)
        schedule.value.hasten(0, to: self.at(20_000))
        #expect(schedule.value.due(0) == planned)
        schedule.value.hasten(0, to: self.at(5_000))
        #expect(schedule.tick(at: self.at(5_000)) == [.run(0)])
        #expect(schedule.finished(0, isInDoubt: true, at: self.at(7_000)), "the path has settled")
        schedule.value.pause(1)
        schedule.value.hasten(1, to: self.at(8_000))
        #expect(schedule.value.due(1) == nil)
    }

    @Test("A running check that is hastened is repeated when it ends, once", arguments: [false, true])
    func hastenRunning(_ isInDoubt: Bool) {
        let schedule = Fixture(0..<1, every: .seconds(15), jitter: 0, seed: 1, at: self.at(0))
        #expect(schedule.tick(at: self.at(0)) == [.run(0)])
        schedule.value.hasten(0, to: self.at(1_000))
        #expect(schedule.tick(at: self.at(1_000)) == [])
        #expect(schedule.finished(0, isInDoubt: isInDoubt, at: self.at(2_000)) != isInDoubt)
        #expect(schedule.tick(at: self.at(2_000)) == [.run(0)])
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(4_000)))
        #expect(schedule.tick(at: self.at(4_000)) == [])
    }

    @Test("A check that is resumed while its run from before the pause goes on is repeated when that ends")
    func resumeRunning() {
        let schedule = Fixture(0..<1, every: .seconds(15), jitter: 0, seed: 1, at: self.at(0))
        #expect(schedule.tick(at: self.at(0)) == [.run(0)])
        schedule.value.pause(0)
        schedule.value.resume(0, at: self.at(1_000))
        #expect(schedule.tick(at: self.at(1_000)) == [.overrun(0)])
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(5_000)))
        #expect(schedule.tick(at: self.at(5_000)) == [.run(0)])
    }

    @Test("A check that lacked a descriptor does not count, and waits a second for one")
    func descriptors() {
        let schedule = self.schedule(0..<1, every: .seconds(10))
        #expect(schedule.tick(at: self.at(0)) == [.run(0)])
        let counts = schedule.value.finished(0, isInDoubt: false, lackedDescriptor: true, at: self.at(500))
        #expect(!counts)
        #expect(self.milliseconds(schedule.deadline) == 1500)
        #expect(schedule.tick(at: self.at(1500)) == [.run(0)])
        #expect(schedule.finished(0, isInDoubt: false, at: self.at(1600)))
        #expect(self.milliseconds(schedule.deadline) == 11_500)
    }
}

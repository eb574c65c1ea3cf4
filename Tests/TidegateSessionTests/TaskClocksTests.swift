import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

@Suite
struct TaskClocksTests {
    private static let limits = Indirect(
        TaskClocks.Limits(
            idle: .seconds(60), attempt: .seconds(100), deadline: .seconds(200), patience: .seconds(50)))

    private static func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    private static func running() -> TaskClocks.Inputs {
        var inputs = TaskClocks.Inputs()
        inputs.isSuspended = false
        inputs.isOnWire = true
        return inputs
    }

    @Test("A suspended task is subject to no clock")
    func suspended() {
        var clocks = TaskClocks(limits: TaskClocksTests.limits)
        clocks.follow(TaskClocks.Inputs(), at: TaskClocksTests.at(0))
        #expect(clocks.nextDue() == nil)
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(1000))
        #expect(clocks.due(.deadline) == TaskClocksTests.at(1200))
        #expect(clocks.due(.idle) == TaskClocksTests.at(1060))
    }

    @Test("While held the deadline and the patience run; the active time, idle and attempt clocks stand still")
    func held() {
        var clocks = TaskClocks(limits: TaskClocksTests.limits)
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(0))
        var held = TaskClocksTests.running()
        (held.isHeld, held.isOnWire, held.waitsAtGate) = (true, false, true)
        clocks.follow(held, at: TaskClocksTests.at(10))
        #expect(clocks.due(.deadline) == TaskClocksTests.at(200))
        #expect(clocks.due(.patience) == TaskClocksTests.at(60))
        #expect(clocks.due(.idle) == nil)
        #expect(clocks.due(.attempt) == nil)
        #expect(clocks.activeTime(at: TaskClocksTests.at(40)) == .seconds(10))
        let due60 = clocks.takeDue(at: TaskClocksTests.at(60))
        #expect(due60 == [.patience])
    }

    @Test("The idle clock stands still in grace and starts again with every byte")
    func idle() {
        var clocks = TaskClocks(limits: TaskClocksTests.limits)
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(0))
        clocks.attemptStarted(at: TaskClocksTests.at(0))
        clocks.bytesMoved(at: TaskClocksTests.at(20))
        #expect(clocks.due(.idle) == TaskClocksTests.at(80))
        var grace = TaskClocksTests.running()
        grace.isInGrace = true
        clocks.follow(grace, at: TaskClocksTests.at(50))
        #expect(clocks.due(.idle) == nil)
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(90))
        #expect(clocks.due(.idle) == TaskClocksTests.at(120))
    }

    @Test("Patience is what all waits at the gate may take together")
    func patience() {
        var clocks = TaskClocks(limits: TaskClocksTests.limits)
        var waiting = TaskClocksTests.running()
        (waiting.waitsAtGate, waiting.isOnWire) = (true, false)
        clocks.follow(waiting, at: TaskClocksTests.at(0))
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(30))
        clocks.follow(waiting, at: TaskClocksTests.at(100))
        #expect(clocks.due(.patience) == TaskClocksTests.at(120))
    }

    @Test("A moment is scheduled once, and a newer one takes its place")
    func scheduling() {
        var clocks = TaskClocks(limits: Indirect(TaskClocks.Limits()))
        clocks.schedule(.backoff, at: TaskClocksTests.at(5))
        clocks.schedule(.backoff, at: TaskClocksTests.at(8))
        #expect(clocks.nextDue() == TaskClocksTests.at(8))
        let due7 = clocks.takeDue(at: TaskClocksTests.at(7))
        #expect(due7 == [])
        let due8 = clocks.takeDue(at: TaskClocksTests.at(8))
        #expect(due8 == [.backoff])
        let due9 = clocks.takeDue(at: TaskClocksTests.at(9))
        #expect(due9 == [])
    }

    @Test("The idle clock does not run back when older news comes later")
    func olderNews() {
        var clocks = TaskClocks(limits: TaskClocksTests.limits)
        clocks.follow(TaskClocksTests.running(), at: TaskClocksTests.at(0))
        clocks.bytesMoved(at: TaskClocksTests.at(59))
        clocks.bytesMoved(at: TaskClocksTests.at(1))
        #expect(clocks.due(.idle) == TaskClocksTests.at(119))
    }
}

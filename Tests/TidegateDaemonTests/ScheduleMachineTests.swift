import Testing
@testable import TidegateDaemon
import TidegateCore
import TidegateTestKit

@Suite struct ScheduleMachineTests {
    private let time = ManualTime()
    private var generator = FixedGenerator()

    private func task(_ name: String, every: Duration = .seconds(60), jitter: Double = 0) -> ScheduledTask {
        var task = ScheduledTask(every: every, jitter: jitter)
        task.name = name
        return task
    }

    private mutating func machine(_ tasks: ScheduledTask...) -> ScheduleMachine {
        var machine = ScheduleMachine()
        #expect(machine.load(tasks, at: self.time.monotonic()) == [])
        return machine
    }

    private mutating func tick(_ machine: inout ScheduleMachine) -> [ScheduleMachine.Effect] {
        machine.tick(at: self.time.monotonic(), using: &self.generator)
    }

    @Test("The first turn comes at once, the next ones stand on a grid")
    mutating func grid() throws {
        var machine = self.machine(self.task("a"), self.task("b", every: .seconds(90)))
        let start = self.time.monotonic()
        #expect(self.tick(&machine) == [.run(self.task("a")), .run(self.task("b", every: .seconds(90)))])
        #expect(machine.nextDue == start + .seconds(60))
        #expect(self.tick(&machine) == [])
        machine.ended("a")
        self.time.advance(by: .seconds(63))
        #expect(self.tick(&machine) == [.run(self.task("a"))])
        #expect(machine.nextDue == start + .seconds(90))
        #expect(self.tick(&machine) == [])
    }

    @Test("A run that is not over loses its next turn, and only that")
    mutating func skippedTurn() {
        var machine = self.machine(self.task("a"))
        #expect(self.tick(&machine) == [.run(self.task("a"))])
        self.time.advance(by: .seconds(60))
        #expect(self.tick(&machine) == [.skip("a")])
        machine.ended("a")
        #expect(self.tick(&machine) == [])
        self.time.advance(by: .seconds(60))
        #expect(self.tick(&machine) == [.run(self.task("a"))])
    }

    @Test("Turns that a sleeping machine missed are not made up for")
    mutating func missedTurns() {
        var machine = self.machine(self.task("a"))
        let start = self.time.monotonic()
        #expect(self.tick(&machine) == [.run(self.task("a"))])
        machine.ended("a")
        self.time.advance(by: .seconds(605))
        #expect(self.tick(&machine) == [.run(self.task("a"))])
        #expect(machine.nextDue == start + .seconds(660))
    }

    @Test("Jitter makes a turn late, never early, and does not move the grid")
    mutating func jitter() throws {
        var machine = self.machine(self.task("a", jitter: 0.5))
        let start = self.time.monotonic()
        _ = self.tick(&machine)
        for turn in 1...50 {
            machine.ended("a")
            let due = try #require(machine.nextDue)
            let late = due - (start + .seconds(60 * turn))
            #expect(late >= .zero && late < .seconds(30))
            self.time.advance(by: due - self.time.monotonic())
            #expect(self.tick(&machine) == [.run(self.task("a", jitter: 0.5))])
        }
    }

    @Test("A reload keeps the turns of what stays, starts what is new and cancels what is gone")
    mutating func reload() {
        var machine = self.machine(self.task("stays"), self.task("goes"), self.task("over"))
        let start = self.time.monotonic()
        _ = self.tick(&machine)
        machine.ended("over")
        self.time.advance(by: .seconds(10))
        let tasks = [self.task("stays"), self.task("new", every: .seconds(120))]
        #expect(
            machine.load(tasks, at: self.time.monotonic()) == [.cancel("goes")])
        #expect(self.tick(&machine) == [.run(self.task("new", every: .seconds(120)))])
        #expect(machine.nextDue == start + .seconds(60))
        let faster = [self.task("stays", every: .seconds(5)), self.task("new", every: .seconds(120))]
        _ = machine.load(faster, at: self.time.monotonic())
        // Its first run is not over, so the new interval begins with a skipped turn.
        #expect(self.tick(&machine) == [.skip("stays")])
    }

    @Test("Without tasks nothing is ever due")
    mutating func nothing() {
        var machine = self.machine()
        #expect(machine.nextDue == nil)
        #expect(self.tick(&machine) == [])
    }
}

/// The same numbers every time.
private struct FixedGenerator: RandomNumberGenerator {
    private var state: UInt64 = 42

    mutating func next() -> UInt64 {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return self.state
    }
}

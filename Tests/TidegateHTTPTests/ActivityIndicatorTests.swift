import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@testable import TidegateHTTP

/// When activity is shown, and for how long.
@Suite(.timeLimit(.minutes(5)))
struct ActivityIndicatorTests {
    private static func moment(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private static func id() -> TaskID {
        var generator = SystemRandomNumberGenerator()
        return TaskID(at: WallTime(microseconds: 0), using: &generator)
    }

    private func machine() -> ActivityMachine { ActivityMachine(startDelay: .seconds(1), endDelay: .milliseconds(170)) }

    @Test("It is on one second after the start and off 170 ms after the end, not a millisecond sooner")
    func delays() {
        var machine = self.machine()
        let task = Self.id()
        machine.add(task, at: Self.moment(0))
        machine.advance(to: Self.moment(999))
        #expect(machine.state == .delayingStart)
        machine.advance(to: Self.moment(1000))
        #expect(machine.state == .active && machine.deadline == nil)
        machine.remove(task, at: Self.moment(5000))
        machine.advance(to: Self.moment(5169))
        #expect(machine.state == .delayingEnd)
        machine.advance(to: Self.moment(5170))
        #expect(machine.state == .notActive && machine.deadline == nil)
    }

    @Test("What is over within the delay is never shown, and a pause shorter than the other one does not show either")
    func hysteresis() {
        var machine = self.machine()
        let (first, second) = (Self.id(), Self.id())
        machine.add(first, at: Self.moment(0))
        machine.remove(first, at: Self.moment(900))
        #expect(machine.state == .delayingStart)
        machine.advance(to: Self.moment(1000))
        #expect(machine.state == .notActive)
        machine.add(first, at: Self.moment(2000))
        machine.advance(to: Self.moment(3000))
        machine.remove(first, at: Self.moment(4000))
        machine.add(second, at: Self.moment(4100))
        #expect(machine.state == .active && machine.deadline == nil)
        machine.advance(to: Self.moment(9000))
        #expect(machine.state == .active)
    }

    @Test("A task that is suspended and then cancelled is taken away once, and one that is resumed twice counts once")
    func setBased() {
        var machine = self.machine()
        let (first, second) = (Self.id(), Self.id())
        machine.remove(first, at: Self.moment(0))
        #expect(machine.state == .notActive)
        machine.add(first, at: Self.moment(0))
        machine.add(first, at: Self.moment(1))
        machine.add(second, at: Self.moment(2))
        machine.remove(first, at: Self.moment(3))
        machine.remove(first, at: Self.moment(4))
        #expect(machine.tasks == [second])
        machine.advance(to: Self.moment(2000))
        #expect(machine.state == .active)
        machine.remove(second, at: Self.moment(2001))
        #expect(machine.state == .delayingEnd)
    }

    @Test("Without delays it follows at once")
    func noDelays() {
        var machine = ActivityMachine(startDelay: .zero, endDelay: .seconds(-1))
        let task = Self.id()
        machine.add(task, at: Self.moment(0))
        #expect(machine.state == .active)
        machine.remove(task, at: Self.moment(0))
        #expect(machine.state == .notActive)
    }

    @Test("Random events never leave it on without a task for longer than the delay, nor off with one")
    func random() {
        var generator = SeededGenerator(seed: 7)
        let tasks = (0..<4).map { _ in Self.id() }
        var machine = self.machine()
        var (now, changed, running): (UInt64, UInt64, Set<TaskID>) = (0, 0, [])
        for _ in 0..<5000 {
            now += UInt64.random(in: 0...400, using: &generator)
            let task = tasks[Int.random(in: 0..<4, using: &generator)]
            let wasEmpty = running.isEmpty
            if Bool.random(using: &generator) {
                running.insert(task)
                machine.add(task, at: Self.moment(now))
            } else {
                running.remove(task)
                machine.remove(task, at: Self.moment(now))
            }
            if wasEmpty != running.isEmpty { changed = now }
            #expect(machine.tasks == running)
            if running.isEmpty, now - changed >= 1000 { #expect(machine.state == .notActive) }
            if !running.isEmpty, now - changed >= 1000 { #expect(machine.state == .active) }
        }
    }

    @Test("It follows a session's tasks, and says every change once")
    func session() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let indicator = ActivityIndicator(
            fixture.session, startDelay: .milliseconds(50), endDelay: .milliseconds(20))
        var changes = indicator.changes.makeAsyncIterator()
        #expect(await changes.next() == false)
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await changes.next() == true)
        #expect(indicator.isActive && indicator.state == .active)
        task.suspend()
        #expect(await changes.next() == false)
        task.cancel()
        _ = await task.result()
        let late = fixture.run(try TaskRequest(url: server.url()))
        #expect(await changes.next() == true)
        #expect(ActivityIndicator(fixture.session, startDelay: .zero).isActive, "it counts what is under way")
        latch.open()
        _ = await late.result()
        #expect(await changes.next() == false)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

extension ActivityMachine {
    fileprivate mutating func add(_ task: TaskID, at now: MonotonicTime) { self.change(at: now) { $0.insert(task) } }
    fileprivate mutating func remove(_ task: TaskID, at now: MonotonicTime) { self.change(at: now) { $0.remove(task) } }
}

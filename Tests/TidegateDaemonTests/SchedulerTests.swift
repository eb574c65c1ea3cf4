import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon

@Suite struct SchedulerTests {
    private func task(_ name: String, every: Duration = .seconds(3600)) -> ScheduledTask {
        var task = ScheduledTask()
        (task.name, task.every, task.jitter) = (name, every, 0)
        return task
    }

    @Test("Every task runs once at the start, and stopping waits for the runs")
    func start() async {
        let log = Log()
        let scheduler = Scheduler(time: ManualTime(), onSkip: { log.add("skip \($0)") }) { task in
            log.add("run \(task.name)")
            // As a transfer does that is cancelled and then takes a moment to end.
            try? await Task.sleep(for: .seconds(3600))
            log.add("end \(task.name)")
        }
        await scheduler.load([self.task("a"), self.task("b")])
        #expect(await eventually { log.all.count == 2 })
        await scheduler.stop()
        #expect(Set(log.all) == ["run a", "run b", "end a", "end b"])
        await scheduler.load([self.task("c")])
        #expect(log.all.count == 4)
    }

    @Test("A run that is not over makes its task lose the turn; an ended one does not")
    func turns() async {
        let (log, time) = (Log(), ManualTime())
        let scheduler = Scheduler(time: time, onSkip: { log.add("skip \($0)") }) { task in
            log.add("run \(task.name)")
            if task.name == "slow" { try? await Task.sleep(for: .seconds(3600)) }
        }
        await scheduler.load([self.task("slow"), self.task("quick")])
        #expect(await eventually { log.all.count == 2 })
        // A reload looks at the clock as a timer does.
        #expect(
            await eventually {
                time.advance(by: .seconds(3600))
                await scheduler.load([self.task("slow"), self.task("quick")])
                return log.all.contains("skip slow") && log.all.count { $0 == "run quick" } >= 2
            })
        await scheduler.stop()
        #expect(log.all.count { $0 == "run slow" } == 1)
    }
}

/// Collects lines.
private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { self.lines.withLock { $0.append(line) } }

    var all: [String] { self.lines.withLock { $0 } }
}

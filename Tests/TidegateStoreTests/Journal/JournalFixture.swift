import Foundation
import TidegateCore
import TidegateStore
import TidegateLoop
import TidegateSession
import TidegateTestKit
import TidegateTesting

/// A session with a journal in a directory, and with scripted paths.
final class JournalFixture {
    let recorder = RecordingSink()
    let paths = ScriptedPathSource()
    let journal: Journal
    let session: Session

    /// `wall` is the journal's wall clock at the start; nil takes the system's.
    init(
        _ directory: TestDirectory, retention: Journal.Retention = Journal.Retention(), wall: WallTime? = nil
    ) throws {
        let time: any TimeSource = wall.map { ManualTime(wall: $0) } ?? SystemClock()
        let bus = EventBus(time: SystemClock())
        bus.attach(self.recorder)
        self.journal = try Journal(directory.state, retention, time: time)
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))
        self.session = try Session(
            configuration, bus: bus, paths: self.paths, resolver: ScriptedResolver(), time: SystemClock(),
            generator: SystemRandomNumberGenerator(), journal: self.journal.tasks)
    }

    /// Ends the session and the journal as a shutdown does.
    func stop() async {
        await self.session.invalidate(cancellingTasks: true)
        self.journal.close()
    }

    func entry(_ id: TaskID) async throws -> JournaledTask? { try await self.session.find(.task(id)).first }

    /// Waits until the task's end is in the journal.
    func end(of id: TaskID) async throws -> JournaledEnd? {
        try await eventualValue { try await self.entry(id)?.end }
    }
}

extension Journal {
    /// A journal that does not wait long for entries to share a transaction.
    convenience init(
        _ directory: String, _ retention: Retention = Retention(), time: any TimeSource = SystemClock()
    ) throws {
        var dependencies = Dependencies(boot: "test", time: time)
        dependencies.flushDelay = .milliseconds(5)
        dependencies.checkpointInterval = .milliseconds(20)
        try self.init(directory: directory, retention: retention, dependencies: dependencies)
    }
}

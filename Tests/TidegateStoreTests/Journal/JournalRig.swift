import Foundation
import TidegateCore
import TidegateStore
import TidegateLoop
import TidegateSession
import TidegateTestKit

/// A session with a journal in a directory, on scripted surroundings.
final class JournalRig {
    let heard = RecordingSink()
    let paths = ScriptedPathSource()
    let journal: Journal
    let session: Session

    init(_ folder: Folder, retention: Journal.Retention = Journal.Retention()) throws {
        let bus = EventBus(time: SystemClock())
        bus.attach(self.heard)
        self.journal = try Journal(folder.state, retention)
        self.session = try Session(
            .init(retry: try RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))), bus: bus, paths: self.paths,
            resolver: ScriptedResolver(), time: SystemClock(), generator: SystemRandomNumberGenerator(),
            journal: self.journal)
    }

    /// Ends this process's part, as a shutdown does.
    func stop() async {
        await self.session.invalidate(cancellingTasks: true)
        self.journal.close()
    }

    func entry(_ id: TaskID) async throws -> JournaledTask? { try await self.session.find(.task(id)).first }

    /// Waits until the journal has the task's end.
    func end(of id: TaskID) async throws -> JournaledEnd? {
        _ = try await eventually { try await self.entry(id)?.end != nil }
        return try await self.entry(id)?.end
    }
}

extension Journal {
    /// A quick journal for tests.
    convenience init(_ directory: String, _ retention: Retention = Retention()) throws {
        var surroundings = Surroundings(boot: "test", time: SystemClock())
        surroundings.patience = .milliseconds(5)
        surroundings.checkpointInterval = .milliseconds(20)
        try self.init(directory: directory, retention: retention, surroundings: surroundings)
    }
}

/// A directory of a test's own, removed with it.
final class Folder {
    let path: String

    /// A directory for temporary files; in memory where a test asks for many synchronisations and can do without
    /// their disk.
    init(inMemory: Bool = false) throws {
        let memory = "/dev/shm/"
        let isThere = inMemory && FileManager.default.isWritableFile(atPath: memory)
        self.path = (isThere ? memory : NSTemporaryDirectory()) + "tidegate-journal-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// The state directory, which the journal makes.
    var state: String { "\(self.path)/state" }

    var journalFile: String { "\(self.state)/journal.sqlite" }

    func file(_ name: String) -> String { "\(self.path)/\(name)" }

    func bytes(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: self.file(name)).map { [UInt8]($0) }
    }

    func hasPattern(_ name: String, _ count: Int64) -> Bool { self.bytes(name) == LiveServerAnswer.bytes(count: count) }

    func size(_ name: String) -> Int64? {
        (try? FileManager.default.attributesOfItem(atPath: self.file(name)))?[.size] as? Int64
    }
}

import Foundation
import TidegateTestKit

/// A directory of a test's own, removed with it.
final class TestDirectory: Sendable {
    let path: String

    /// A directory for temporary files; in memory for tests with many fsync(2) calls that can do without a disk.
    init(inMemory: Bool = false) throws {
        let memory = "/dev/shm/"
        let usesMemory = inMemory && FileManager.default.isWritableFile(atPath: memory)
        self.path = (usesMemory ? memory : NSTemporaryDirectory()) + "tidegate-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// The state directory, which the journal creates.
    var state: String { "\(self.path)/state" }

    var journalFile: String { "\(self.state)/journal.sqlite" }

    /// The directory of the remote-write queue, which the writer creates.
    var queue: String { "\(self.path)/remote-write" }

    var queueFile: String { "\(self.queue)/queue.sqlite" }

    func file(_ name: String) -> String { "\(self.path)/\(name)" }

    func bytes(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: self.file(name)).map { [UInt8]($0) }
    }

    func hasPattern(_ name: String, _ count: Int64) -> Bool { self.bytes(name) == LiveServerAnswer.bytes(count: count) }

    func size(_ name: String) -> Int64? {
        (try? FileManager.default.attributesOfItem(atPath: self.file(name)))?[.size] as? Int64
    }
}

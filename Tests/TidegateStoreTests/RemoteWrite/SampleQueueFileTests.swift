import Foundation
import GRDB
import Testing
import TidegateCore

@testable import TidegateStore

/// The remote-write queue on a disk.
@Suite struct SampleQueueFileTests {
    private let directory: TestDirectory

    init() throws { self.directory = try TestDirectory() }

    private func open() throws -> (SampleQueueFile, SampleQueueFile.Contents) {
        let file = SampleQueueFile(directory: self.directory.queue)
        return (file, try file.open())
    }

    private static func batch(_ sequence: Int64, _ body: [UInt8]) -> SampleBatch {
        SampleBatch(sequence: sequence, samples: 5, length: body.count)
    }

    private func sql(_ text: String, _ arguments: StatementArguments = []) throws {
        let queue = try DatabaseQueue(path: self.directory.queueFile)
        try queue.write { try $0.execute(sql: text, arguments: arguments) }
        try queue.close()
    }

    @Test("SQLite runs in WAL mode with durable commits, and only the owner may read the file")
    func pragmas() throws {
        let queue = try DurableDatabase.open(
            self.directory.file("q.sqlite"), migrator: SampleQueueSchema.migrator, pragmas: SampleQueueSchema.pragmas,
            checksEveryPage: false)
        #expect(try queue.write { try SQLitePragmas($0) } == .durable)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: self.directory.file("q.sqlite"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("The next process finds what was inserted, oldest first, and reads it back")
    func comesBack() throws {
        let (file, contents) = try self.open()
        #expect(contents == SampleQueueFile.Contents())
        for sequence: Int64 in [10, 9, 100] {
            let body = Array(repeating: UInt8(sequence), count: 5000)
            try file.insert(body, as: Self.batch(sequence, body))
        }
        let (next, found) = try self.open()
        #expect(found.discarded == nil)
        #expect(found.batches.map(\.sequence) == [9, 10, 100])
        #expect(found.batches.map(\.samples) == [5, 5, 5])
        #expect(found.batches.map(\.bytes) == [8192, 8192, 8192])
        for batch in found.batches {
            #expect(next.body(of: batch) == Array(repeating: UInt8(batch.sequence), count: 5000))
        }
        next.remove(found.batches[1])
        #expect(next.body(of: found.batches[1]) == nil)
        #expect(try self.open().1.batches.map(\.sequence) == [9, 100])
    }

    @Test("A body that changed on the disk is not sent, and the other batches are not affected")
    func changedBody() throws {
        let (file, _) = try self.open()
        let body = (0..<200).map { UInt8($0) }
        let batches = (1...2).map { Self.batch(Int64($0), body) }
        for batch in batches { try file.insert(body, as: batch) }
        for bit in 0..<body.count * 8 {
            var damaged = body
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            try self.sql("UPDATE batch SET body = ? WHERE sequence = 1", [Data(damaged)])
            #expect(file.body(of: batches[0]) == nil)
        }
        for count in 0..<body.count {
            try self.sql("UPDATE batch SET body = ? WHERE sequence = 1", [Data(body[..<count])])
            #expect(file.body(of: batches[0]) == nil)
        }
        #expect(file.body(of: batches[1]) == body)
    }

    @Test("A damaged page costs the batches in it, and not the others")
    func damagedPage() throws {
        let (file, _) = try self.open()
        let body = Array(repeating: UInt8(0x42), count: 40_000)
        for sequence in 1...5 { try file.insert(body, as: Self.batch(Int64(sequence), body)) }
        try self.sql("PRAGMA user_version = 1")
        let queue = try DatabaseQueue(path: self.directory.queueFile)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try queue.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: self.directory.queueFile))
        let middle = bytes.count / 2 / 4096 * 4096
        for position in middle..<middle + 4096 { bytes[position] = 0xA5 }
        try bytes.write(to: URL(fileURLWithPath: self.directory.queueFile))
        let (next, found) = try self.open()
        #expect(found.batches.count == 5)
        #expect(found.batches.count { next.body(of: $0) == body } == 4)
    }

    @Test("A damaged file is replaced by an empty one, and that is reported", arguments: [100, 4096, 100_000])
    func damagedFile(_ count: Int) throws {
        try FileManager.default.createDirectory(atPath: self.directory.queue, withIntermediateDirectories: true)
        let garbage = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        try garbage.write(to: URL(fileURLWithPath: self.directory.queueFile))
        let (file, contents) = try self.open()
        #expect(contents.batches == [])
        #expect(contents.discarded?.detail.hasPrefix("\(self.directory.queueFile) was damaged (") == true)
        try file.insert([1, 2, 3], as: Self.batch(1, [1, 2, 3]))
        #expect(try self.open().1.batches.map(\.sequence) == [1])
    }

    @Test("A table that another program spoiled is replaced, and the samples in it are counted as far as they can be")
    func spoiledTable() throws {
        let (file, _) = try self.open()
        for sequence in 1...3 { try file.insert([7], as: Self.batch(Int64(sequence), [7])) }
        try self.sql("ALTER TABLE batch RENAME COLUMN body TO other")
        let (next, contents) = try self.open()
        #expect(contents.batches == [])
        #expect(contents.discarded?.samples == 15)
        try next.insert([1], as: Self.batch(4, [1]))
        #expect(try self.open().1.batches.map(\.sequence) == [4])
    }

    @Test("A file that is damaged while it is in use is replaced, and the next batch is kept")
    func damagedInUse() throws {
        let (file, _) = try self.open()
        let first = Self.batch(1, [1])
        try file.insert([1], as: first)
        try self.sql("DROP TABLE batch")
        let second = Self.batch(2, [2])
        try file.insert([2], as: second)
        #expect(file.body(of: first) == nil)
        #expect(file.body(of: second) == [2])
        #expect(try self.open().1.batches == [second])
    }

    @Test("The database of another program, or of a newer version, is left unchanged")
    func foreign() throws {
        try FileManager.default.createDirectory(atPath: self.directory.queue, withIntermediateDirectories: true)
        try self.sql("CREATE TABLE batch (id INTEGER)")
        let before = FileManager.default.contents(atPath: self.directory.queueFile)
        let error = #expect(throws: TextError.self) { try self.open() }
        #expect(error?.description == "\(self.directory.queueFile) is another program's database")
        #expect(FileManager.default.contents(atPath: self.directory.queueFile) == before)
        try FileManager.default.removeItem(atPath: self.directory.queueFile)
        _ = try self.open()
        try self.sql("INSERT INTO grdb_migrations VALUES ('99')")
        let newer = #expect(throws: TextError.self) { try self.open() }
        #expect(newer?.description == "\(self.directory.queueFile) was written by a newer version of Tidegate")
    }

    @Test("A directory that cannot be created is an error that names it")
    func noDirectory() throws {
        #expect(FileManager.default.createFile(atPath: self.directory.queue, contents: nil))
        let file = SampleQueueFile(directory: "\(self.directory.queue)/below")
        let error = #expect(throws: TextError.self) { try file.open() }
        #expect(error?.description == "\(self.directory.queue)/below: Not a directory")
        #expect(!file.isOpen)
        #expect(throws: TextError.self) { try file.insert([1], as: Self.batch(1, [1])) }
    }

    @Test("The file shrinks when batches are removed, and the log beside it stays small")
    func shrinks() throws {
        let (file, _) = try self.open()
        let body = (0..<100_000).map { _ in UInt8.random(in: 0...255) }
        let batches = (1...100).map { Self.batch(Int64($0), body) }
        for batch in batches { try file.insert(body, as: batch) }
        #expect(try #require(self.size("")) > 9_000_000)
        for batch in batches { file.remove(batch) }
        // Not all of it: the end of the log is moved into the file later.
        #expect(try #require(self.size("")) < 5_000_000)
        #expect(try #require(self.size("-wal")) <= 1_000_000)
    }

    private func size(_ suffix: String) -> Int64? { self.directory.size("remote-write/queue.sqlite\(suffix)") }
}

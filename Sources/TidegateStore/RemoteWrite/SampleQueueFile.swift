internal import CZlib
internal import FoundationEssentials
internal import GRDB
internal import TidegateCore

/// The queue's SQLite file, in which every batch is stored durably before it counts.
///
/// Blocks for the disk; belongs to one thread.
final class SampleQueueFile {
    /// The batches left by an earlier process.
    struct Contents: Hashable {
        /// Oldest first.
        var batches: [SampleBatch] = []
        /// A damaged file that has been deleted; nil if the file was intact.
        var discarded: Discarded?
    }

    /// A damaged file that was deleted.
    struct Discarded: Hashable {
        /// The number of samples in it, if known.
        var samples: Int
        /// The problem, as text for users.
        var detail: String
    }

    private let directory: String
    private let path: String
    private var database: DatabaseQueue?
    // Their deletion failed, for example on a full disk; they are deleted together with the next one.
    private var undeleted: Set<Int64> = []

    init(directory: String) {
        self.directory = directory
        self.path = SampleQueueFile.path(in: directory)
    }

    /// The path of a directory's queue.
    static func path(in directory: String) -> String { "\(directory)/queue.sqlite" }

    var isOpen: Bool { self.database != nil }

    /// Opens the file; creates it and its directory if they are missing.
    ///
    /// A damaged file is deleted and replaced by an empty one: new samples matter more than the rest of a buffer.
    func open() throws(TextError) -> Contents {
        if let message = Directory.create(self.directory) { throw TextError("\(self.directory): \(message)") }
        var contents = Contents()
        do {
            contents.batches = try self.openDatabase()
        } catch .damaged(_, let message) {
            let samples = self.deleteDatabase()
            contents.discarded = Discarded(samples: samples, detail: "\(self.path) was damaged (\(message))")
            contents.batches = try Result { () throws(JournalOpenError) in try self.openDatabase() }
                .mapError(self.writeError).get()
        } catch {
            throw self.writeError(error)
        }
        return contents
    }

    /// Stores a body: once this returns, neither `kill -9` nor a power cut loses it.
    func insert(_ body: [UInt8], as batch: SampleBatch) throws(TextError) {
        guard let database = self.database else { throw TextError("\(self.path) is not open") }
        do {
            try SampleQueueFile.insert(body, as: batch, into: database)
        } catch let error as DatabaseError where error.isDamage {
            // Other bodies in the file are reported as damaged when they are due to be sent.
            _ = self.deleteDatabase()
            _ = try self.open()
            guard let database = self.database,
                (try? SampleQueueFile.insert(body, as: batch, into: database)) != nil
            else { throw TextError("\(self.path): \(error.text)") }
        } catch {
            throw self.writeError(JournalOpenError(error, self.path))
        }
    }

    /// The body of a batch; nil if it is missing or damaged.
    func body(of batch: SampleBatch) -> [UInt8]? {
        let row = try? self.database?.read { database in
            try Row.fetchOne(
                database, sql: "SELECT checksum, body FROM batch WHERE sequence = ?", arguments: [batch.sequence])
        }
        guard let row, let data = row["body"] as Data? else { return nil }
        let body = [UInt8](data)
        return SampleQueueFile.checksum(of: body) == row["checksum"] ? body : nil
    }

    /// Deletes a batch.
    ///
    /// If the process dies before the deletion is durable, the batch is sent twice, but a receiver keeps only one of
    /// two equal samples.
    func remove(_ batch: SampleBatch) {
        self.undeleted.insert(batch.sequence)
        let sequences = self.undeleted
        let isDeleted: Void? = try? self.database?.write { database in
            let statement = try database.cachedStatement(sql: "DELETE FROM batch WHERE sequence = ?")
            for sequence in sequences { try statement.execute(arguments: [sequence]) }
        }
        if isDeleted != nil { self.undeleted = [] }
    }

    // MARK: SQLite

    private func openDatabase() throws(JournalOpenError) -> [SampleBatch] {
        // A damaged page only costs the batch on it, so there is no need to read all pages first.
        let database = try DurableDatabase.open(
            self.path, migrator: SampleQueueSchema.migrator, pragmas: SampleQueueSchema.pragmas,
            checksEveryPage: false)
        self.database = database
        let batches = Result {
            try database.read { database in
                try Row.fetchAll(database, sql: "SELECT sequence, samples, length(body) FROM batch ORDER BY sequence")
                    .map { SampleBatch(sequence: $0[0], samples: $0[1], length: $0[2]) }
            }
        }
        return try batches.mapError { JournalOpenError($0, self.path) }.get()
    }

    private static func insert(_ body: [UInt8], as batch: SampleBatch, into database: DatabaseQueue) throws {
        try database.write { database in
            let statement = try database.cachedStatement(
                sql: "INSERT INTO batch (sequence, samples, checksum, body) VALUES (?, ?, ?, ?)")
            try statement.execute(arguments: [
                batch.sequence, batch.samples, SampleQueueFile.checksum(of: body), Data(body),
            ])
        }
    }

    /// Deletes the file; returns the number of samples that could be counted in it.
    private func deleteDatabase() -> Int {
        let samples = try? self.database?.read { database in
            // Row by row, because a sum over a damaged table would fail.
            var samples = 0
            let rows = try Row.fetchCursor(database, sql: "SELECT samples FROM batch")
            while let row = try? rows.next() { samples += row[0] as Int? ?? 0 }
            return samples
        }
        try? self.database?.close()
        self.database = nil
        self.undeleted = []
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: self.path + suffix)
        }
        return samples ?? 0
    }

    private func writeError(_ error: JournalOpenError) -> TextError {
        switch error {
        case .damaged(_, let message), .unusable(_, let message): TextError("\(self.path): \(message)")
        case .newer: TextError("\(self.path) was written by a newer version of Tidegate")
        case .foreign: TextError("\(self.path) is another program's database")
        case .inUse, .unsafe: TextError(error.description)
        }
    }

    private static func checksum(of body: [UInt8]) -> Int64 { Int64(crc32_z(0, body, body.count)) }
}

/// The SQL of the remote-write queue's table, version by version.
///
/// A released version is never changed. Each change is a new migration at the end.
enum SampleQueueSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: SampleQueueSchema.version1) }
        return migrator
    }

    /// The file shrinks when batches are removed, and its log stays small.
    static let pragmas = ["auto_vacuum = FULL", "wal_autocheckpoint = 128", "journal_size_limit = 524288"]

    // SQLite's pages have no checksum; a body that changed on disk must not be sent.
    private static let version1 = """
        CREATE TABLE batch (
            sequence INTEGER NOT NULL PRIMARY KEY,
            samples INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        """
}

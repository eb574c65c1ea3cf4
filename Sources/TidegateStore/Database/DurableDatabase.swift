internal import FoundationEssentials
internal import GRDB
internal import Glibc
internal import TidegateCore

/// Opens SQLite files in which every commit survives `kill -9` and a power cut.
enum DurableDatabase {
    /// Opens a file and brings its tables up to date; a new file is readable by its owner only.
    ///
    /// A file of version N is copied to `FILE.version-N` first. Each version after it is one transaction.
    ///
    /// `pragmas` run before anything is written. With `checksEveryPage`, damage to any page is found now; without it,
    /// when the damaged page is read. A rejected file is not changed.
    static func open(
        _ path: String, migrator: DatabaseMigrator, pragmas: [String] = [], checksEveryPage: Bool
    ) throws(JournalOpenError) -> DatabaseQueue {
        // SQLite gives the files beside this one the same mode.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(path, SystemError.message(errno)) }
        close(descriptor)
        do {
            try self.check(path, migrator, checksEveryPage: checksEveryPage)
            let queue = try self.queue(path)
            try self.prepare(queue, migrator, pragmas)
            return queue
        } catch {
            throw JournalOpenError(error, path)
        }
    }

    /// Another connection to an open file, which cannot change it.
    static func reader(_ path: String) throws(JournalOpenError) -> DatabaseQueue {
        try Result { try self.queue(path, isReadOnly: true) }.mapError { JournalOpenError($0, path) }.get()
    }

    private static func queue(_ path: String, isReadOnly: Bool = false) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.readonly = isReadOnly
        configuration.label = "tidegate"
        configuration.busyMode = .timeout(5)
        configuration.observesSuspensionNotifications = false
        // SQLite would cache 2,000 KiB of pages for each file, which the kernel caches as well.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -256") }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func prepare(_ queue: DatabaseQueue, _ migrator: DatabaseMigrator, _ pragmas: [String]) throws {
        try queue.writeWithoutTransaction { database in
            for pragma in pragmas + ["journal_mode = WAL", "synchronous = FULL"] {
                try database.execute(sql: "PRAGMA \(pragma)")
            }
        }
        let version = try queue.read { try migrator.completedMigrations($0).last }
        if let version, version != migrator.migrations.last {
            try self.copy(queue, to: "\(queue.path).version-\(version)")
        }
        try migrator.migrate(queue)
        // If GRDB or SQLite lowered one of these settings, a commit would no longer be durable.
        let used = try queue.writeWithoutTransaction { try SQLitePragmas($0) }
        guard used == .durable else { throw JournalOpenError.unusable(queue.path, "SQLite runs with \(used)") }
    }

    /// Copies a database to a file that only its owner may read; replaces an earlier copy once the new one is complete.
    static func copy(_ queue: DatabaseQueue, to path: String) throws {
        let partial = "\(path).partial"
        // SQLite would let other users read it.
        let descriptor = Glibc.open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw JournalOpenError.unusable(partial, SystemError.message(errno)) }
        close(descriptor)
        do {
            let target = try DatabaseQueue(path: partial)
            defer { try? target.close() }
            try queue.backup(to: target)
        } catch {
            // Every start would leave another one.
            unlink(partial)
            throw error
        }
        guard rename(partial, path) == 0 else { throw JournalOpenError.unusable(path, SystemError.message(errno)) }
    }

    /// Throws unless the file is empty or a database of this program; changes nothing.
    private static func check(_ path: String, _ migrator: DatabaseMigrator, checksEveryPage: Bool) throws {
        let log = "\(path)-wal"
        // SQLite would treat the log as belonging to an earlier file, and delete it with its contents.
        guard self.size(path) != 0 || self.size(log) == 0 else {
            throw JournalOpenError.damaged(path, "it is empty, but \(log) is not")
        }
        if checksEveryPage, let damage = WriteAheadLog.damage(at: log) { throw JournalOpenError.damaged(path, damage) }
        // A writable connection moves the log into the file when it closes, even if the file is damaged.
        let queue = try self.queue(path, isReadOnly: true)
        defer { try? queue.close() }
        try queue.read { database in
            if checksEveryPage { try self.checkPages(database, path) }
            let isEmpty = try Bool.fetchOne(database, sql: "SELECT count(*) = 0 FROM sqlite_schema") ?? true
            let isOurs = try database.tableExists("grdb_migrations")
            guard isEmpty || isOurs else { throw JournalOpenError.foreign(path) }
            if try migrator.hasBeenSuperseded(database) {
                let sql = "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC LIMIT 1"
                throw JournalOpenError.newer(
                    path, version: try String.fetchOne(database, sql: sql) ?? "", known: migrator.migrations.last ?? "")
            }
        }
    }

    private static func checkPages(_ database: Database, _ path: String) throws {
        let answers = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
        guard answers != ["ok"] else { return }
        // The first line is a heading.
        let lines = answers.flatMap { $0.split(separator: "\n") }.filter { !$0.hasPrefix("***") }
        throw JournalOpenError.damaged(path, lines.first.map(String.init) ?? "quick_check gives no answer")
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// Why a journal, or another SQLite file of this program, cannot be opened.
public enum JournalOpenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process uses the directory; its process id, nil if unknown.
    case inUse(String, process: Int?)
    /// The file is damaged; contains SQLite's message.
    case damaged(String, String)
    /// A newer Tidegate wrote the file: the version of its tables, and the latest that this one knows.
    case newer(String, version: String, known: String)
    /// The file is another program's database.
    case foreign(String)
    /// A user other than this process's own may change the directory or a file in it; contains the problem.
    case unsafe(String, String)
    /// The directory or the file cannot be used; contains the system's message.
    case unusable(String, String)

    /// One sentence without a full stop.
    public var description: String {
        switch self {
        case .inUse(let directory, let process):
            "another daemon\(process.map { " (process \($0))" } ?? "") uses the state directory \(directory)"
        case .damaged(let file, let message):
            "the journal \(file) is damaged (\(message)): it was left unchanged; move it away to start with an empty one"
        case .newer(let file, let version, let known):
            "the journal \(file) has version \(version), and this Tidegate knows \(known): it was left unchanged; install the "
                + "newer Tidegate again, or use the copy \(file).version-\(known)"
        case .foreign(let file): "\(file) is another program's database: it was left unchanged; name another directory"
        case .unsafe(let path, let message): "the journal is not safe in \(path): \(message); nothing was changed"
        case .unusable(let path, let message): "the journal cannot be kept in \(path): \(message)"
        }
    }

    /// An error of SQLite or of this program, from opening or first reading a file.
    init(_ error: any Error, _ path: String) {
        switch error {
        case let error as JournalOpenError: self = error
        case let error as DatabaseError where error.isDamage: self = .damaged(path, error.text)
        case let error as DatabaseError where error.isFullDisk(at: path): self = .unusable(path, "the disk is full")
        case let error as DatabaseError: self = .unusable(path, error.text)
        default: self = .unusable(path, "\(error)")
        }
    }
}

extension DatabaseError {
    /// SQLite's message.
    var text: String { self.message ?? "\(self.resultCode)" }

    /// True if the file is damaged, or its tables do not match this program's statements.
    var isDamage: Bool {
        switch self.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR: true
        default: false
        }
    }

    /// True if a write failed because the disk is full; SQLite has a specific code for only some of these failures.
    func isFullDisk(at path: String) -> Bool {
        switch self.resultCode {
        case .SQLITE_FULL: return true
        case .SQLITE_IOERR, .SQLITE_CANTOPEN:
            var system = statvfs()
            return statvfs(path, &system) == 0 && (system.f_bavail == 0 || (system.f_files > 0 && system.f_favail == 0))
        default: return false
        }
    }
}

/// Creates directories for this program's files.
enum Directory {
    /// Creates a directory and its missing parents, accessible to their owner only; returns the system's message on
    /// failure.
    static func create(_ path: String) -> String? {
        var partial = path.hasPrefix("/") ? "" : "."
        for component in path.split(separator: "/") {
            partial += "/\(component)"
            guard mkdir(partial, 0o700) == 0 || errno == EEXIST else { return SystemError.message(errno) }
        }
        return nil
    }
}

/// The settings that decide whether a commit is durable, as SQLite reports them.
struct SQLitePragmas: Hashable, CustomStringConvertible {
    var journalMode: String
    var synchronous: Int

    /// WAL mode, and an fsync(2) of the log at every commit.
    static let durable = SQLitePragmas(journalMode: "wal", synchronous: 2)

    var description: String { "journal_mode=\(self.journalMode) synchronous=\(self.synchronous)" }
}

extension SQLitePragmas {
    init(_ database: Database) throws {
        self.journalMode = try String.fetchOne(database, sql: "PRAGMA journal_mode") ?? "none"
        self.synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous") ?? 0
    }
}

/// SQLite's write-ahead log, checked before SQLite reads it, because SQLite ignores an invalid frame and everything
/// after it.
///
/// The format is described in https://www.sqlite.org/fileformat2.html, section 4.
struct WriteAheadLog {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    private let bytes: [UInt8]
    private let pageSize: Int
    private let isBigEndian: Bool

    /// The problem with the log at a path; nil if it is intact, ends within a transaction, or does not exist.
    ///
    /// The last transaction may be incomplete, if the machine lost power before it was reported as durable. But each
    /// transaction is only written after the previous one was durable, so two transactions after an invalid frame mean
    /// damage.
    static func damage(at path: String) -> String? {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        guard bytes.count > self.headerSize + self.frameHeaderSize else { return nil }
        guard let log = WriteAheadLog(Array(bytes)) else { return "the header of \(path) is damaged" }
        return log.firstBadFrame.map { "frame \($0) of \(path) is damaged" }
    }

    // Nil if the header or its checksum is invalid.
    private init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        let magic = WriteAheadLog.number(bytes, 0)
        guard magic & 0xFFFF_FFFE == 0x377F_0682 else { return nil }
        self.isBigEndian = magic & 1 == 1
        let size = Int(WriteAheadLog.number(bytes, 8))
        guard size >= 512, size <= 65_536, size & (size - 1) == 0 else { return nil }
        self.pageSize = size
        let sum = self.checksum(of: 0..<24, after: (0, 0))
        guard sum == (WriteAheadLog.number(bytes, 24), WriteAheadLog.number(bytes, 28)) else { return nil }
    }

    /// The number, from 1, of a frame that was once valid and no longer is.
    private var firstBadFrame: Int? {
        let frameSize = WriteAheadLog.frameHeaderSize + self.pageSize
        var sum = (WriteAheadLog.number(self.bytes, 24), WriteAheadLog.number(self.bytes, 28))
        var (bad, commits): (Int?, Int) = (nil, 0)
        var start = WriteAheadLog.headerSize
        while start + frameSize <= self.bytes.count {
            // Frames from an earlier use of the file have other salts.
            let isCurrent = self.bytes[start + 8..<start + 16] == self.bytes[16..<24]
            if bad == nil {
                sum = self.checksum(of: start..<start + 8, after: sum)
                sum = self.checksum(of: start + WriteAheadLog.frameHeaderSize..<start + frameSize, after: sum)
                let stored = (
                    WriteAheadLog.number(self.bytes, start + 16), WriteAheadLog.number(self.bytes, start + 20)
                )
                if !isCurrent || sum != stored { bad = (start - WriteAheadLog.headerSize) / frameSize + 1 }
            } else if isCurrent, WriteAheadLog.number(self.bytes, start + 4) != 0 {
                commits += 1
            }
            start += frameSize
        }
        return commits >= 2 ? bad : nil
    }

    private func checksum(of range: Range<Int>, after start: (UInt32, UInt32)) -> (UInt32, UInt32) {
        var sum = start
        for position in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            sum.0 = sum.0 &+ self.word(position) &+ sum.1
            sum.1 = sum.1 &+ self.word(position + 4) &+ sum.0
        }
        return sum
    }

    private func word(_ position: Int) -> UInt32 {
        let number = WriteAheadLog.number(self.bytes, position)
        return self.isBigEndian ? number : number.byteSwapped
    }

    // Big-endian.
    private static func number(_ bytes: [UInt8], _ position: Int) -> UInt32 {
        UInt32(bytes[position]) << 24 | UInt32(bytes[position + 1]) << 16 | UInt32(bytes[position + 2]) << 8
            | UInt32(bytes[position + 3])
    }
}

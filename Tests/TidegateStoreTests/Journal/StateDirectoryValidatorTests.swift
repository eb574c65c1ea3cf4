import Foundation
import GRDB
import Glibc
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

/// Directories in which no journal is opened, and files that are not changed.
@Suite(.timeLimit(.minutes(5)))
struct StateDirectoryValidatorTests {
    private static let isRoot = geteuid() == 0

    /// A directory with an empty journal.
    private static func used() throws -> TestDirectory {
        let directory = try TestDirectory()
        try Journal(directory.state).close()
        return directory
    }

    private static func openError(of directory: TestDirectory) -> String {
        let error = #expect(throws: JournalOpenError.self) { try Journal(directory.state).close() }
        return error?.description ?? ""
    }

    /// The attributes of a file that change when it is changed.
    private static func attributes(_ path: String) -> [Int] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        return [
            Int(status.st_ino), Int(status.st_mode), Int(status.st_uid), Int(status.st_size), status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec,
        ]
    }

    @Test("A symbolic link in place of one of the journal's files is refused, and its target is not changed")
    func links() throws {
        for name in StateDirectoryValidator.files {
            let directory = try Self.used()
            let path = "\(directory.state)/\(name)"
            try Data("another's".utf8).write(to: URL(fileURLWithPath: directory.file("target")))
            unlink(path)
            #expect(symlink(directory.file("target"), path) == 0)
            #expect(
                Self.openError(of: directory)
                    == "the journal is not safe in \(path): it is a symbolic link; nothing was changed")
            #expect(directory.bytes("target") == Array("another's".utf8))
        }
    }

    @Test("A directory or a pipe in place of one of the journal's files is refused")
    func kinds() throws {
        let directory = try Self.used()
        #expect(mkdir("\(directory.state)/journal.sqlite-wal", 0o700) == 0)
        #expect(Self.openError(of: directory).contains("journal.sqlite-wal: it is not a regular file"))
        let other = try Self.used()
        unlink("\(other.state)/lock")
        #expect(mkfifo("\(other.state)/lock", 0o600) == 0)
        #expect(Self.openError(of: other).contains("lock: it is not a regular file"))
    }

    @Test("A state directory writable by all users is refused, and so is a journal readable or writable by all users")
    func modes() throws {
        let directory = try Self.used()
        let before = Self.attributes(directory.journalFile)
        chmod(directory.state, 0o1777)
        #expect(
            Self.openError(of: directory)
                == "the journal is not safe in \(directory.state): it is writable by all users (mode 01777); nothing was changed"
        )
        #expect(Self.attributes(directory.journalFile) == before)
        chmod(directory.state, 0o770)
        #expect(
            Self.openError(of: directory)
                == "the journal is not safe in \(directory.state): it is writable by its group (mode 0770); nothing was changed"
        )
        chmod(directory.state, 0o750)
        chmod(directory.path, 0o777)
        #expect(Self.openError(of: directory).contains("\(directory.path): it is writable by all users (mode 0777)"))
        chmod(directory.path, 0o1777)
        try Journal(directory.state).close()
        chmod(directory.path, 0o755)
        try Journal(directory.state).close()
        chmod(directory.journalFile, 0o644)
        #expect(Self.openError(of: directory).contains("journal.sqlite: it is readable by all users (mode 0644)"))
        chmod(directory.journalFile, 0o602)
        #expect(Self.openError(of: directory).contains("journal.sqlite: it is writable by all users (mode 0602)"))
        chmod(directory.journalFile, 0o640)
        try Journal(directory.state).close()
    }

    @Test(
        "A state directory or a journal of another user is refused, root's is not", .enabled(if: isRoot, "needs root"))
    func owners() throws {
        let directory = try Self.used()
        chown(directory.journalFile, 4711, 4711)
        #expect(Self.openError(of: directory).contains("journal.sqlite: it belongs to user 4711, not to user 0"))
        chown(directory.journalFile, 0, 0)
        chown(directory.state, 4711, 4711)
        #expect(Self.openError(of: directory).contains("\(directory.state): it belongs to user 4711, not to user 0"))
        chown(directory.state, 0, 0)
        #expect(throws: Never.self) { try StateDirectoryValidator(directory: directory.state, user: 4711).validate() }
        let link = directory.file("link")
        #expect(symlink(directory.state, link) == 0)
        try Journal(link).close()
        lchown(link, 4711, 4711)
        let error = #expect(throws: JournalOpenError.self) { try Journal(link).close() }
        #expect(error?.description.contains("link: it belongs to user 4711") == true)
    }

    @Test("A file in place of the state directory or of one above it is reported")
    func notADirectory() throws {
        let directory = try TestDirectory()
        try Data().write(to: URL(fileURLWithPath: directory.state))
        #expect(Self.openError(of: directory) == "the journal cannot be kept in \(directory.state): Not a directory")
        let error = #expect(throws: JournalOpenError.self) { try Journal("\(directory.state)/deeper").close() }
        #expect(error?.description == "the journal cannot be kept in \(directory.state)/deeper: Not a directory")
    }

    @Test("A read-only file system is reported, with and without a journal in it", .enabled(if: isRoot, "needs root"))
    func readOnly() throws {
        for isUsed in [false, true] {
            let directory = try isUsed ? Self.used() : TestDirectory()
            mkdir(directory.state, 0o700)
            let state = directory.state
            try #require(mount(state, state, nil, UInt(MS_BIND), nil) == 0, "no bind mount can be made here")
            defer { umount2(state, Int32(MNT_DETACH)) }
            #expect(mount(nil, state, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)
            #expect(Self.openError(of: directory) == "the journal cannot be kept in \(state): Read-only file system")
        }
    }

    @Test("Another program's database is refused and not changed")
    func foreign() async throws {
        let directory = try TestDirectory()
        mkdir(directory.state, 0o700)
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write { try $0.execute(sql: "CREATE TABLE task (id INTEGER)") }
        try queue.close()
        chmod(directory.journalFile, 0o600)
        let before = FileManager.default.contents(atPath: directory.journalFile)
        #expect(
            Self.openError(of: directory)
                == "\(directory.journalFile) is another program's database: it was left unchanged; name another directory"
        )
        #expect(FileManager.default.contents(atPath: directory.journalFile) == before)
    }

    @Test("A journal whose table lacks a column is refused")
    func column() async throws {
        let directory = try Self.used()
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write { try $0.execute(sql: "ALTER TABLE task DROP COLUMN placing") }
        try queue.close()
        #expect(Self.openError(of: directory).contains("is damaged (no such column: placing)"))
    }

    @Test("A journal that was emptied since it was last used is refused; one that was moved away begins anew")
    func emptied() throws {
        let directory = try Self.used()
        truncate(directory.journalFile, 0)
        #expect(
            Self.openError(of: directory).contains("is damaged (it is empty, and was not when it was last used)"))
        unlink(directory.journalFile)
        try Journal(directory.state).close()
    }

    @Test("A task that cannot be read is set aside, and the others go on")
    func unreadable() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        let request = try TaskRequest(url: "http://127.0.0.1:1/")
        let bad = try await fixture.session.submit(request, key: "bad", isSuspended: true)
        let good = try await fixture.session.submit(request, key: "good", isSuspended: true)
        await fixture.stop()
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write {
            try $0.execute(sql: "UPDATE task SET description = '{' WHERE id = ?", arguments: [bad.id.description])
        }
        try queue.close()
        let journal = try Journal(directory.state)
        #expect(journal.unfinished == 1)
        #expect(journal.setAside.count == 1 && journal.setAside[0].hasPrefix("task \(bad.id): "))
        journal.close()
        let again = try JournalFixture(directory)
        #expect(again.journal.setAside.isEmpty)
        #expect(try await again.entry(good.id) != nil)
        #expect(try await again.entry(bad.id) == nil)
        await again.stop()
        let kept = try DatabaseQueue(path: directory.journalFile)
        let keys = try await kept.read { try String.fetchAll($0, sql: "SELECT key FROM unreadable_task") }
        #expect(keys == ["bad"])
    }

    @Test(
        "A damaged id costs one row or none, and a copy from before the repair is kept",
        arguments: [UInt8(ascii: "!"), 0xFF])
    func damagedID(_ byte: UInt8) async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        var ids: [TaskID] = []
        for number in 0..<3 {
            let request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
            ids.append(try await fixture.session.submit(request, isSuspended: true).id)
        }
        await fixture.stop()
        let whole = try #require(FileManager.default.contents(atPath: directory.journalFile))
        let places = Self.places(of: ids[1].description, in: whole)
        // In the table and in two indexes.
        try #require(places.count == 3)
        var setAside = 0
        for place in places {
            var bytes = whole
            bytes[place] = byte
            let copy = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            #expect(
                FileManager.default.createFile(
                    atPath: copy.journalFile, contents: bytes, attributes: [.posixPermissions: 0o600]))
            let journal = try JournalFixture(copy)
            for id in [ids[0], ids[2]] { #expect(try await journal.entry(id) != nil) }
            setAside += journal.journal.setAside.count
            #expect(try await (journal.entry(ids[1]) != nil) == journal.journal.setAside.isEmpty)
            let before = try #require(journal.journal.copyBeforeRepair)
            let kept = try #require(FileManager.default.contents(atPath: before))
            #expect(kept.count == bytes.count && kept[place] == byte)
            let mode = try FileManager.default.attributesOfItem(atPath: before)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            await journal.stop()
            let again = try JournalFixture(copy)
            #expect(again.journal.copyBeforeRepair == nil)
            await again.stop()
        }
        #expect(setAside == 1)
    }

    // Where a text begins in bytes.
    private static func places(of text: String, in bytes: Data) -> [Int] {
        var (places, rest) = ([Int](), bytes[...])
        while let range = rest.range(of: Data(text.utf8)) {
            places.append(range.lowerBound)
            rest = bytes[range.upperBound...]
        }
        return places
    }

    /// The file is the dump of a journal that the sidecar of commit 871d583c wrote (sqlite3's `.dump`).
    @Test("A journal of version 4 keeps its tasks, how they ended and the page's history, and a copy is left")
    func version4() async throws {
        let directory = try TestDirectory()
        mkdir(directory.state, 0o700)
        let golden = URL(filePath: #filePath).appending(path: "../../Golden/journal-version-4.sql").standardized
        let dump = try String(contentsOf: golden, encoding: .utf8)
        let old = try DatabaseQueue(path: directory.journalFile)
        chmod(directory.journalFile, 0o600)
        try await old.writeWithoutTransaction { try $0.execute(sql: dump) }
        try old.close()
        // As long as this test may exist.
        var retention = Journal.Retention(completed: .seconds(1 << 31))
        retention.pathEvents = .seconds(1 << 31)
        let fixture = try JournalFixture(directory, retention: retention)
        #expect(fixture.journal.openTasks == 2)
        #expect(fixture.journal.history(newest: 100).count == 7)
        func task(_ id: String) async throws -> JournaledTask {
            let id = try #require(TaskID(id))
            return try #require(try await fixture.entry(id))
        }
        let fetched = try await task("01a21ee7-096f-7067-8dbe-a9f930cbf708")
        #expect(fetched.description.key == "fetched" && fetched.end?.outcome == .success && fetched.end?.status == 200)
        let missing = try await task("01a21ee7-186b-7a34-8854-09f7ff698dc0")
        #expect(missing.end?.failure == .httpStatus && missing.end?.status == 404 && missing.end?.party == .mine)
        let waiting = try await task("01a21ee7-33e3-7c04-8130-fb1bd2edad73")
        #expect(waiting.description.key == "waiting" && waiting.end == nil && waiting.suspensions == 1)
        let next = try await task("01a21ee7-43f7-7e2b-b805-a20102243d7b")
        #expect(next.predecessor == waiting.id && next.end == nil)
        await fixture.stop()
        let copy = try DatabaseQueue(path: "\(directory.journalFile).version-4")
        #expect(try await copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM task") } == 4)
        try copy.close()
    }

    @Test("A journal of an older version is migrated, and its tasks are kept")
    func older() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        let made = try await fixture.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await fixture.stop()
        var migrator = JournalSchema.migrator
        migrator.registerMigration("later") { try $0.execute(sql: "ALTER TABLE task ADD COLUMN later TEXT") }
        let file = try JournalFile(directory: directory.state, migrator: migrator)
        #expect(try file.countUnfinished() == 1)
        let ids = try await file.queue.read { try String.fetchAll($0, sql: "SELECT id FROM task WHERE later IS NULL") }
        #expect(ids == [made.id.description])
        try file.queue.close()
        // The older version refuses it now, and goes on with the copy from before.
        let name = directory.journalFile
        #expect(
            Self.openError(of: directory)
                == "the journal \(name) has version later, and this Tidegate knows 8: it was left unchanged; install the "
                + "newer Tidegate again, or use the copy \(name).version-8")
        let mode = try FileManager.default.attributesOfItem(atPath: "\(name).version-8")[.posixPermissions]
        #expect(mode as? Int == 0o600)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: name + suffix) }
        try FileManager.default.moveItem(atPath: "\(name).version-8", toPath: name)
        let old = try JournalFile(directory: directory.state)
        #expect(try old.countUnfinished() == 1)
        try old.queue.close()
    }
}

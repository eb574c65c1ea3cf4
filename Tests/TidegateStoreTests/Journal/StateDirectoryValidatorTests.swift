import Foundation
import GRDB
import Glibc
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

/// Places that a journal does not go into, and files that it does not touch.
@Suite(.timeLimit(.minutes(5)))
struct StateDirectoryValidatorTests {
    private static let isRoot = geteuid() == 0

    /// A folder whose state directory has had a journal.
    private static func used() throws -> Folder {
        let folder = try Folder()
        try Journal(folder.state).close()
        return folder
    }

    private static func problem(_ folder: Folder) -> String {
        let error = #expect(throws: JournalProblem.self) { try Journal(folder.state).close() }
        return error?.description ?? ""
    }

    /// Everything that can be seen of a file without reading it.
    private static func trace(_ path: String) -> [Int] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        return [
            Int(status.st_ino), Int(status.st_mode), Int(status.st_uid), Int(status.st_size), status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec,
        ]
    }

    @Test("A symbolic link in the place of one of the journal's files is refused, and what it leads to stays as it is")
    func links() throws {
        for name in StateDirectoryValidator.files {
            let folder = try Self.used()
            let path = "\(folder.state)/\(name)"
            try Data("another's".utf8).write(to: URL(fileURLWithPath: folder.file("target")))
            unlink(path)
            #expect(symlink(folder.file("target"), path) == 0)
            #expect(
                Self.problem(folder)
                    == "the journal is not safe in \(path): it is a symbolic link; nothing was changed")
            #expect(folder.bytes("target") == Array("another's".utf8))
        }
    }

    @Test("A directory or a pipe in the place of one of the journal's files is refused")
    func kinds() throws {
        let folder = try Self.used()
        #expect(mkdir("\(folder.state)/journal.sqlite-wal", 0o700) == 0)
        #expect(Self.problem(folder).contains("journal.sqlite-wal: it is no regular file"))
        let other = try Self.used()
        unlink("\(other.state)/lock")
        #expect(mkfifo("\(other.state)/lock", 0o600) == 0)
        #expect(Self.problem(other).contains("lock: it is no regular file"))
    }

    @Test("A state directory that everybody may write is refused, and so is a journal that everybody may read or write")
    func modes() throws {
        let folder = try Self.used()
        let before = Self.trace(folder.journalFile)
        chmod(folder.state, 0o1777)
        #expect(
            Self.problem(folder)
                == "the journal is not safe in \(folder.state): everybody may write it (mode 01777); nothing was changed"
        )
        #expect(Self.trace(folder.journalFile) == before)
        chmod(folder.state, 0o770)
        try Journal(folder.state).close()
        chmod(folder.journalFile, 0o644)
        #expect(Self.problem(folder).contains("journal.sqlite: everybody may read it (mode 0644)"))
        chmod(folder.journalFile, 0o602)
        #expect(Self.problem(folder).contains("journal.sqlite: everybody may write it (mode 0602)"))
        chmod(folder.journalFile, 0o640)
        try Journal(folder.state).close()
    }

    @Test(
        "A state directory or a journal of another user is refused, root's is not", .enabled(if: isRoot, "needs root"))
    func owners() throws {
        let folder = try Self.used()
        chown(folder.journalFile, 4711, 4711)
        #expect(Self.problem(folder).contains("journal.sqlite: it belongs to the user 4711 and not to 0"))
        chown(folder.journalFile, 0, 0)
        chown(folder.state, 4711, 4711)
        #expect(Self.problem(folder).contains("\(folder.state): it belongs to the user 4711 and not to 0"))
        chown(folder.state, 0, 0)
        #expect(throws: Never.self) { try StateDirectoryValidator(folder.state, user: 4711).look() }
        let link = folder.file("link")
        #expect(symlink(folder.state, link) == 0)
        try Journal(link).close()
        lchown(link, 4711, 4711)
        let error = #expect(throws: JournalProblem.self) { try Journal(link).close() }
        #expect(error?.description.contains("link: it belongs to the user 4711") == true)
    }

    @Test("A file in the place of the state directory, or on the way to it, is told")
    func places() throws {
        let folder = try Folder()
        try Data().write(to: URL(fileURLWithPath: folder.state))
        #expect(Self.problem(folder) == "the journal cannot be kept in \(folder.state): Not a directory")
        let error = #expect(throws: JournalProblem.self) { try Journal("\(folder.state)/deeper").close() }
        #expect(error?.description == "the journal cannot be kept in \(folder.state)/deeper: Not a directory")
    }

    @Test("A read-only file system is told, with and without a journal in it", .enabled(if: isRoot, "needs root"))
    func readOnly() throws {
        for isUsed in [false, true] {
            let folder = try isUsed ? Self.used() : Folder()
            mkdir(folder.state, 0o700)
            let state = folder.state
            try #require(mount(state, state, nil, UInt(MS_BIND), nil) == 0, "no bind mount can be made here")
            defer { umount2(state, Int32(MNT_DETACH)) }
            #expect(mount(nil, state, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)
            #expect(Self.problem(folder) == "the journal cannot be kept in \(state): Read-only file system")
        }
    }

    @Test("Another program's database is refused and stays as it is")
    func foreign() async throws {
        let folder = try Folder()
        mkdir(folder.state, 0o700)
        let queue = try DatabaseQueue(path: folder.journalFile)
        try await queue.write { try $0.execute(sql: "CREATE TABLE task (id INTEGER)") }
        try queue.close()
        chmod(folder.journalFile, 0o600)
        let before = FileManager.default.contents(atPath: folder.journalFile)
        #expect(
            Self.problem(folder)
                == "\(folder.journalFile) is another program's database: it was left as it is; name another directory")
        #expect(FileManager.default.contents(atPath: folder.journalFile) == before)
    }

    @Test("A journal whose table lacks a column is refused")
    func column() async throws {
        let folder = try Self.used()
        let queue = try DatabaseQueue(path: folder.journalFile)
        try await queue.write { try $0.execute(sql: "ALTER TABLE task DROP COLUMN placing") }
        try queue.close()
        #expect(Self.problem(folder).contains("is damaged (no such column: placing)"))
    }

    @Test("A journal of an older version is brought up to date, and its tasks stay")
    func older() async throws {
        let folder = try Folder()
        let rig = try JournalRig(folder)
        let made = try await rig.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await rig.stop()
        var migrator = JournalSchema.migrator
        migrator.registerMigration("later") { try $0.execute(sql: "ALTER TABLE task ADD COLUMN later TEXT") }
        let file = try JournalFile(directory: folder.state, migrator: migrator)
        #expect(try file.checkTasks() == 1)
        let ids = try await file.queue.read { try String.fetchAll($0, sql: "SELECT id FROM task WHERE later IS NULL") }
        #expect(ids == [made.id.description])
        try file.queue.close()
        // And the older version leaves it alone now.
        #expect(Self.problem(folder).contains("was written by a newer version of Tidegate: it was left as it is"))
    }
}

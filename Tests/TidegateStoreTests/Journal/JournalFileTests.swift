import Foundation
import GRDB
import Synchronization
import Testing
import TidegateLoop
import TidegateCore
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

@Suite(.timeLimit(.minutes(5)))
struct JournalFileTests {
    @Test("SQLite really runs in WAL mode and with every commit durable")
    func modes() throws {
        let folder = try Folder()
        let lock = try DirectoryLock(folder.state)
        let file = try JournalFile(directory: folder.state)
        #expect(try file.queue.read { try JournalModes($0) } == JournalModes(journal: "wal", synchronous: 2))
        #expect(try file.queue.write { try JournalModes($0) } == .durable)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.journalFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        lock.release()
    }

    @Test("Two daemons on one state directory: the second is told in one sentence")
    func twoDaemons() throws {
        let folder = try Folder()
        let first = try Journal(folder.state)
        let error = #expect(throws: JournalProblem.self) { try Journal(folder.state) }
        #expect(
            error?.description
                == "another daemon (process \(getpid())) uses the state directory \(folder.state)")
        first.close()
        try Journal(folder.state).close()
    }

    @Test("A journal that is no journal is refused, and kept as it is", arguments: [100, 4096, 100_000])
    func garbage(_ count: Int) throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.state, withIntermediateDirectories: true)
        let garbage = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        try garbage.write(to: URL(fileURLWithPath: folder.journalFile))
        chmod(folder.journalFile, 0o600)
        let error = #expect(throws: JournalProblem.self) { try Journal(folder.state) }
        #expect(error?.description.contains("is damaged (") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("left as it is") == true)
        #expect(FileManager.default.contents(atPath: folder.journalFile) == garbage)
    }

    @Test("A journal with a broken page is refused, and the journal of a newer version, too")
    func broken() async throws {
        let folder = try Folder()
        let rig = try JournalRig(folder)
        for number in 0..<200 {
            var request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
            request.name = String(repeating: "n", count: 300)
            _ = try await rig.session.submit(request, isSuspended: true)
        }
        await rig.stop()
        let checkpoint = try DatabaseQueue(path: folder.journalFile)
        try await checkpoint.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try checkpoint.close()
        let whole = try #require(FileManager.default.contents(atPath: folder.journalFile))
        var bytes = whole
        for position in 8192..<12_288 { bytes[position] = 0xA5 }
        try bytes.write(to: URL(fileURLWithPath: folder.journalFile))
        let error = #expect(throws: JournalProblem.self) { try Journal(folder.state) }
        #expect(error?.description.contains("damaged") == true, "\(error?.description ?? "")")

        try whole.write(to: URL(fileURLWithPath: folder.journalFile))
        let queue = try DatabaseQueue(path: folder.journalFile)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
        try queue.close()
        #expect(throws: JournalProblem.newer(folder.journalFile)) { try Journal(folder.state) }
    }

    /// How a journal can be spoiled beside a log that holds everything that came last.
    enum Spoiling: CaseIterable {
        case cutOff, emptied, overwritten, replaced

        func spoil(_ whole: Data) -> Data {
            switch self {
            case .cutOff: whole.prefix(5000)
            case .emptied: Data()
            case .overwritten: whole.prefix(8192) + Data(repeating: 0xA5, count: max(0, whole.count - 8192))
            case .replaced: Data("hello\n".utf8)
            }
        }
    }

    @Test(
        "A damaged journal is refused in one line, and nothing of it or its log is touched",
        arguments: Spoiling.allCases)
    func damagedBesideLog(_ spoiling: Spoiling) async throws {
        let (folder, copy) = (try Folder(), try Folder())
        let rig = try JournalRig(folder)
        for number in 0..<300 {
            var request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
            request.name = String(repeating: "n", count: 3000)
            _ = try await rig.session.submit(request, isSuspended: true)
        }
        // What a crash leaves: nobody has closed the file, and much is only in the log.
        try FileManager.default.createDirectory(
            atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(folder.state)/\(name)", toPath: "\(copy.state)/\(name)")
        }
        await rig.stop()
        let spoiled = spoiling.spoil(try Data(contentsOf: URL(fileURLWithPath: copy.journalFile)))
        try spoiled.write(to: URL(fileURLWithPath: copy.journalFile))
        chmod(copy.journalFile, 0o600)
        let log = try #require(FileManager.default.contents(atPath: "\(copy.journalFile)-wal"))
        try #require(!log.isEmpty)
        let error = #expect(throws: JournalProblem.self) { try Journal(copy.state) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains("\(copy.journalFile) is damaged (") && !sentence.contains("\n"), "\(sentence)")
        #expect(FileManager.default.contents(atPath: copy.journalFile) == spoiled)
        #expect(FileManager.default.contents(atPath: "\(copy.journalFile)-wal") == log)
    }

    @Test("Tasks that are over are forgotten after their time, those that are not never are")
    func retention() async throws {
        let folder = try Folder()
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let first = try JournalRig(folder)
        let done = try await first.session.submit(try TaskRequest(url: server.url()))
        _ = try await first.end(of: done.id)
        let open = try await first.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        await first.stop()
        let second = try JournalRig(
            folder, retention: Journal.Retention(completed: .nanoseconds(1), pathEvents: .nanoseconds(1)))
        #expect(try await second.entry(done.id) == nil)
        #expect(try await second.entry(open.id) != nil)
        await second.stop()
    }

    @Test("Tasks that come together share a transaction")
    func groupCommit() async throws {
        let folder = try Folder()
        let commits = Atomic<Int>(0)
        let surroundings = Journal.Surroundings(
            boot: "test", time: SystemClock(),
            onEvent: { if case .committed = $0 { commits.wrappingAdd(1, ordering: .relaxed) } })
        let journal = try Journal(directory: folder.state, surroundings: surroundings)
        let description = try TaskDescription(try TaskRequest(url: "http://127.0.0.1/"), key: nil)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    var generator = SystemRandomNumberGenerator()
                    let time = WallTime(microseconds: Int64(number))
                    let task = JournaledTask(
                        id: TaskID(at: time, using: &generator), accepted: time, description: description,
                        suspensions: 1,
                        life: TaskLifetime(lived: .zero, wall: time, monotonic: .init(nanoseconds: 0), boot: ""))
                    await withCheckedContinuation { continuation in
                        journal.accept(task, onDuplicate: .keep) { _ in continuation.resume() }
                    }
                }
            }
        }
        #expect(journal.count == 1000)
        #expect(commits.load(ordering: .relaxed) < 500)
        journal.close()
    }
}

extension Journal {
    /// How many tasks there are, looked at from outside.
    fileprivate var count: Int { self.rows("SELECT count(*) FROM task") }

    fileprivate func rows(_ sql: String) -> Int {
        let queue = try? DatabaseQueue(path: self.path)
        return (try? queue?.read { try Int.fetchOne($0, sql: sql) }) ?? -1
    }
}

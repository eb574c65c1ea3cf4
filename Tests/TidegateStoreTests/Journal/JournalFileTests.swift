import Foundation
import GRDB
import Synchronization
import Testing
import TidegateLoop
import TidegateSession
import TidegateTestKit

@testable import TidegateCore
@testable import TidegateStore

@Suite(.timeLimit(.minutes(5)))
struct JournalFileTests {
    @Test("SQLite runs in WAL mode with durable commits, and only the owner may read the file")
    func modes() throws {
        let directory = try TestDirectory()
        let lock = try DirectoryLock(directory.state)
        let file = try JournalFile(directory: directory.state)
        #expect(try file.queue.read { try SQLitePragmas($0) } == SQLitePragmas(journalMode: "wal", synchronous: 2))
        #expect(try file.queue.write { try SQLitePragmas($0) } == .durable)
        // In KiB (https://www.sqlite.org/pragma.html#pragma_cache_size).
        #expect(try file.queue.write { try Int.fetchOne($0, sql: "PRAGMA cache_size") } == -256)
        let mode = try FileManager.default.attributesOfItem(atPath: directory.journalFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        lock.release()
    }

    @Test("A second journal on a state directory is refused, naming the process that uses it")
    func twoDaemons() throws {
        let directory = try TestDirectory()
        let first = try Journal(directory.state)
        let error = #expect(throws: JournalOpenError.self) { try Journal(directory.state) }
        #expect(
            error?.description
                == "another daemon (process \(getpid())) uses the state directory \(directory.state)")
        first.close()
        try Journal(directory.state).close()
    }

    @Test("What is kept of a probe is there after a restart, the newest of it")
    func probes() throws {
        let directory = try TestDirectory()
        let first = try Journal(directory.state)
        #expect(first.probes.isEmpty)
        let kept = (1...2).map { ScheduledProbeReport.Past(since: 7, success: $0, failure: 0, inconclusive: 0) }
        for past in kept { first.recordProbe("api", past) }
        first.close()
        let second = try Journal(directory.state)
        #expect(second.probes == ["api": kept[1]])
        second.close()
    }

    @Test("A file that is not a database is refused and not changed", arguments: [100, 4096, 100_000])
    func garbage(_ count: Int) throws {
        let directory = try TestDirectory()
        try FileManager.default.createDirectory(atPath: directory.state, withIntermediateDirectories: true)
        let garbage = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        try garbage.write(to: URL(fileURLWithPath: directory.journalFile))
        chmod(directory.journalFile, 0o600)
        let error = #expect(throws: JournalOpenError.self) { try Journal(directory.state) }
        #expect(error?.description.contains("is damaged (") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("left unchanged") == true)
        #expect(FileManager.default.contents(atPath: directory.journalFile) == garbage)
    }

    @Test("A journal with a damaged page is refused, and so is a journal of a newer version")
    func broken() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        for number in 0..<200 {
            var request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
            request.options.name = String(repeating: "n", count: 300)
            _ = try await fixture.session.submit(request, isSuspended: true)
        }
        await fixture.stop()
        let checkpoint = try DatabaseQueue(path: directory.journalFile)
        try await checkpoint.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try checkpoint.close()
        let whole = try #require(FileManager.default.contents(atPath: directory.journalFile))
        var bytes = whole
        for position in 8192..<12_288 { bytes[position] = 0xA5 }
        try bytes.write(to: URL(fileURLWithPath: directory.journalFile))
        let error = #expect(throws: JournalOpenError.self) { try Journal(directory.state) }
        #expect(error?.description.contains("damaged") == true, "\(error?.description ?? "")")

        try whole.write(to: URL(fileURLWithPath: directory.journalFile))
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
        try queue.close()
        #expect(throws: JournalOpenError.newer(directory.journalFile, version: "99", known: "8")) {
            try Journal(directory.state)
        }
    }

    /// Kinds of damage to a journal whose log holds the latest transactions.
    enum Damage: CaseIterable {
        case cutOff, emptied, overwritten, replaced

        func apply(to whole: Data) -> Data {
            switch self {
            case .cutOff: whole.prefix(5000)
            case .emptied: Data()
            case .overwritten: whole.prefix(8192) + Data(repeating: 0xA5, count: max(0, whole.count - 8192))
            case .replaced: Data("hello\n".utf8)
            }
        }
    }

    @Test(
        "A damaged journal is refused in one line, and neither it nor its log is changed",
        arguments: Damage.allCases)
    func damagedBesideLog(_ damage: Damage) async throws {
        let (directory, copy) = (try TestDirectory(), try TestDirectory())
        let fixture = try JournalFixture(directory)
        for number in 0..<300 {
            var request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
            request.options.name = String(repeating: "n", count: 3000)
            _ = try await fixture.session.submit(request, isSuspended: true)
        }
        // As after a crash: the file was not closed, and much is only in the log.
        try FileManager.default.createDirectory(
            atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(directory.state)/\(name)", toPath: "\(copy.state)/\(name)")
        }
        await fixture.stop()
        let damaged = damage.apply(to: try Data(contentsOf: URL(fileURLWithPath: copy.journalFile)))
        try damaged.write(to: URL(fileURLWithPath: copy.journalFile))
        chmod(copy.journalFile, 0o600)
        let log = try #require(FileManager.default.contents(atPath: "\(copy.journalFile)-wal"))
        try #require(!log.isEmpty)
        let error = #expect(throws: JournalOpenError.self) { try Journal(copy.state) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains("\(copy.journalFile) is damaged (") && !sentence.contains("\n"), "\(sentence)")
        #expect(FileManager.default.contents(atPath: copy.journalFile) == damaged)
        #expect(FileManager.default.contents(atPath: "\(copy.journalFile)-wal") == log)
    }

    @Test("Damage inside the log is refused, for SQLite would forget what follows; a torn end is not")
    func damagedLog() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        for number in 0..<20 {
            _ = try await fixture.session.submit(
                try TaskRequest(url: "http://127.0.0.1:1/\(number)"), isSuspended: true)
        }
        let file = FileManager.default.contents(atPath: directory.journalFile)
        let log = try #require(FileManager.default.contents(atPath: "\(directory.journalFile)-wal"))
        await fixture.stop()
        /// How many tasks a copy with this log has, or why it is refused.
        func opened(_ log: Data) throws -> String {
            let copy = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for (path, data) in [(copy.journalFile, file), ("\(copy.journalFile)-wal", log)] {
                #expect(
                    FileManager.default.createFile(
                        atPath: path, contents: data, attributes: [.posixPermissions: 0o600]))
            }
            do {
                let journal = try Journal(copy.state)
                defer { journal.close() }
                return "\(journal.unfinished)"
            } catch {
                #expect(FileManager.default.contents(atPath: "\(copy.journalFile)-wal") == log)
                return "\(error)"
            }
        }
        #expect(try opened(log) == "20")
        #expect(try opened(log.dropLast(10)) == "19")
        for position in [17, log.count / 2] {
            var damaged = log
            damaged[position] ^= 1
            #expect(try opened(damaged).contains("journal.sqlite-wal is damaged"), "\(position)")
        }
    }

    @Test("Accepted tasks that a cut or removed log took along are counted at the start, once")
    func lostTasks() async throws {
        let directory = try TestDirectory()
        let first = try JournalFixture(directory)
        _ = try await first.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await first.stop()
        let fixture = try JournalFixture(directory)
        for number in 0..<20 {
            _ = try await fixture.session.submit(
                try TaskRequest(url: "http://127.0.0.1:1/\(number)"), isSuspended: true)
        }
        let files = ["lock", "journal.sqlite", "journal.sqlite-wal"].map { name in
            (name, FileManager.default.contents(atPath: "\(directory.state)/\(name)") ?? Data())
        }
        await fixture.stop()
        /// How many tasks a copy with so much of the log has lost, and how many it has.
        func lost(_ length: Int) throws -> (Int?, Int) {
            let copy = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for (name, data) in files {
                let isLog = name == "journal.sqlite-wal"
                #expect(
                    FileManager.default.createFile(
                        atPath: "\(copy.state)/\(name)", contents: isLog ? data.prefix(length) : data,
                        attributes: [.posixPermissions: 0o600]))
            }
            let journal = try Journal(copy.state)
            defer { journal.close() }
            // What was sent may be among what is lost.
            let doubted = journal.rows("SELECT count(*) FROM task WHERE in_doubt = 1")
            #expect(doubted == (journal.lost == nil ? 0 : journal.unfinished))
            guard case .lost(_, let tasks)? = journal.lost else { return (nil, journal.unfinished) }
            return (tasks, journal.unfinished)
        }
        let size = files[2].1.count
        #expect(try lost(size) == (nil, 21))
        #expect(try lost(size - 10) == (1, 20))
        #expect(try lost(0) == (20, 1))
        let half = try lost(size / 2)
        #expect(half.0 == 21 - half.1 && (2..<20).contains(half.1))
    }

    @Test("A removed or replaced file accepts nothing until it is back", arguments: ["", "-wal"], [false, true])
    func removed(suffix: String, isReplaced: Bool) async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        let request = try TaskRequest(url: "http://127.0.0.1:1/")
        func submit() async throws { _ = try await fixture.session.submit(request, isSuspended: true) }
        try await submit()
        let (path, aside) = (directory.journalFile + suffix, directory.journalFile + ".aside")
        try FileManager.default.moveItem(atPath: path, toPath: aside)
        if isReplaced { try FileManager.default.copyItem(atPath: aside, toPath: path) }
        let error = await #expect(throws: TaskError.self) { try await submit() }
        #expect(error?.underlying.contains("\(directory.journalFile) or its write-ahead log was removed") == true)
        if isReplaced { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: aside, toPath: path)
        try await submit()
        await fixture.stop()
        let journal = try Journal(directory.state)
        defer { journal.close() }
        #expect(journal.unfinished == 2)
        #expect(journal.lost == nil)
    }

    @Test("After a crash without the file the start reports every accepted task as lost, once, and keeps the log")
    func removedBeforeStart() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        for _ in 0..<3 {
            _ = try await fixture.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        }
        // As after kill -9, the log is not in the file.
        let copy = try TestDirectory()
        try FileManager.default.createDirectory(
            atPath: copy.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in ["lock", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(directory.state)/\(name)", toPath: "\(copy.state)/\(name)")
        }
        let log = try #require(FileManager.default.contents(atPath: "\(copy.journalFile)-wal"))
        await fixture.stop()
        let journal = try Journal(copy.state)
        let lost: Int? = if case .lost(_, let tasks)? = journal.lost { tasks } else { nil }
        #expect(lost == 3)
        #expect(journal.unfinished == 0)
        #expect(FileManager.default.contents(atPath: "\(copy.journalFile)-wal.lost") == log)
        journal.close()
        let again = try Journal(copy.state)
        defer { again.close() }
        #expect(again.lost == nil)
    }

    @Test("Finished tasks are deleted after the retention, unfinished ones never are")
    func retention() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let done = try await first.session.submit(try TaskRequest(url: server.url()))
        _ = try await first.end(of: done.id)
        let open = try await first.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        await first.stop()
        var retention = Journal.Retention(completed: .nanoseconds(1))
        retention.pathEvents = .nanoseconds(1)
        let second = try JournalFixture(directory, retention: retention)
        #expect(try await second.entry(done.id) == nil)
        #expect(try await second.entry(open.id) != nil)
        await second.stop()
    }

    @Test("Tasks that arrive during a transaction share the next one")
    func groupCommit() async throws {
        let directory = try TestDirectory()
        let commits = Atomic<Int>(0)
        let latch = Latch()
        let dependencies = Journal.Dependencies(
            boot: "test", time: SystemClock(),
            onEvent: { if case .committed = $0 { commits.wrappingAdd(1, ordering: .relaxed) } },
            onCommit: { _ in latch.wait() })
        let journal = try Journal(directory: directory.state, dependencies: dependencies)
        let description = try TaskDescription(try TaskRequest(url: "http://127.0.0.1/"), key: nil)
        let accepted = Atomic<Int>(0)
        var generator = SystemRandomNumberGenerator()
        for number in 0..<1000 {
            let time = WallTime(microseconds: Int64(number))
            let task = JournaledTask(
                id: TaskID(at: time, using: &generator), accepted: time, description: description, suspensions: 1,
                life: TaskLifetime(lived: .zero, wall: time, monotonic: .init(nanoseconds: 0), boot: ""))
            journal.accept(task, onDuplicate: .keep) { _ in accepted.add(1, ordering: .relaxed) }
        }
        latch.open()
        #expect(await eventually { accepted.load(ordering: .relaxed) == 1000 })
        #expect(journal.count == 1000)
        // The first, and 512 at most in each of the others.
        #expect(commits.load(ordering: .relaxed) <= 4)
        journal.close()
    }
}

extension Journal {
    /// The number of tasks, read by another connection.
    fileprivate var count: Int { self.rows("SELECT count(*) FROM task") }

    fileprivate func rows(_ sql: String) -> Int {
        let queue = try? DatabaseQueue(path: self.path)
        return (try? queue?.read { try Int.fetchOne($0, sql: sql) }) ?? -1
    }
}

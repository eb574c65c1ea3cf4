import Foundation
import GRDB
import HTTPTypes
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

/// What the journal keeps of tasks that are over.
@Suite(.timeLimit(.minutes(5)))
struct FinishedTaskTests {
    private static let secrets = ["hunter2-query", "hunter2-header", "hunter2-body", "hunter2-password"]

    private static func secretRequest(_ server: LiveServer) throws -> TaskRequest {
        var request = try TaskRequest(
            url: server.url("/x?token=\(secrets[0])"), method: "POST",
            headers: [try HTTPField("X-Api-Key", secrets[1]), try HTTPField("Content-Type", "text/x-tide")],
            body: .data(Array(secrets[2].utf8)))
        request.options.credentials = Credentials(user: "u", password: secrets[3])
        request.options.name = "n"
        return request
    }

    // Bytes are kept as base64.
    private static func secretsLeft(in directory: TestDirectory) throws -> [String] {
        let data = try Data(contentsOf: URL(fileURLWithPath: directory.journalFile))
        return self.secrets.filter { secret in
            [Data(secret.utf8), Data(Data(secret.utf8).base64EncodedString().utf8)].contains {
                data.range(of: $0) != nil
            }
        }
    }

    @Test("Bodies, credentials and values of header fields go; URL, method and the fields' names stay")
    func redacted() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        let made = try await fixture.session.submit(try Self.secretRequest(server), key: "k")
        #expect(try await fixture.end(of: made.id)?.outcome == .success)
        let task = try #require(try await fixture.entry(made.id))
        #expect(task.description.url == server.url("/x"))
        #expect(task.description.method == "POST" && task.description.key == "k" && task.description.name == "n")
        #expect(task.description.headers.map(\.name.rawName) == ["X-Api-Key", "Content-Type"])
        #expect(task.description.headers.map(\.value) == ["redacted", "text/x-tide"])
        #expect(task.description.body == .removed)
        #expect(throws: TaskError.self) { try task.description.request() }
        await fixture.stop()
        #expect(try Self.secretsLeft(in: directory) == [])
    }

    @Test("An unfinished task keeps everything, and loses it when another one replaces it")
    func replaced() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        _ = try await first.session.submit(try Self.secretRequest(server), key: "k", isSuspended: true)
        await first.stop()
        #expect(try Self.secretsLeft(in: directory) == Self.secrets)
        let second = try JournalFixture(directory)
        _ = try await second.session.submit(
            try TaskRequest(url: server.url()), key: "k", onDuplicate: .replace, isSuspended: true)
        await second.stop()
        #expect(try Self.secretsLeft(in: directory) == [])
    }

    @Test("A clock a year back loses no task; a year ahead only what is over is forgotten")
    func clockSteps() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let over = try await first.session.submit(try TaskRequest(url: server.url()))
        #expect(try await first.end(of: over.id)?.outcome == .success)
        let waiting = try await first.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        await first.stop()
        let year = Int64(365 * 86_400) * 1_000_000
        func open(_ difference: Int64) throws -> JournalFixture {
            try JournalFixture(
                directory, wall: WallTime(microseconds: SystemClock().wall().microseconds + difference))
        }
        let back = try open(-year)
        #expect(try await back.entry(over.id)?.end?.outcome == .success)
        let older = try await back.session.submit(try TaskRequest(url: server.url()), isSuspended: true)
        try await back.session.restore()
        _ = try await back.session.resume(waiting.id)
        #expect(try await back.end(of: waiting.id)?.outcome == .success)
        await back.stop()
        let ahead = try open(year)
        #expect(try await ahead.entry(older.id)?.suspensions == 1)
        // What is over is deleted by the journal's thread.
        #expect(try await eventually { try await ahead.entry(over.id) == nil })
        await ahead.stop()
    }

    @Test("A finished row that cannot be read is set aside when the journal is opened, and left out while it is open")
    func unreadable() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        var ids: [TaskID] = []
        for _ in 0..<3 {
            let made = try await first.session.submit(try TaskRequest(url: server.url()))
            #expect(try await first.end(of: made.id) != nil)
            ids.append(made.id)
        }
        try await Self.execute("UPDATE task SET outcome = 'odd' WHERE id = '\(ids[1])'", directory)
        #expect(Set(try await first.session.list(.ended(atMost: 10)).map(\.id)) == [ids[0], ids[2]])
        // Of a finished task's description nothing depends.
        try await Self.execute("UPDATE task SET description = '{' WHERE id = '\(ids[0])'", directory)
        await first.stop()
        let second = try JournalFixture(directory)
        #expect(second.journal.setAside == ["task \(ids[1]): \"odd\" is not an outcome"])
        #expect(Set(try await second.session.list(.ended(atMost: 10)).map(\.id)) == [ids[0], ids[2]])
        await second.stop()
    }

    @Test("Lists have what a task was submitted with, and what it came to")
    func list() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .pattern(1000, for: $0) }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        var request = try TaskRequest(url: server.url("/a?b=c"))
        request.destination = .file(directory.file("a"))
        request.options.name = "n"
        let made = try await fixture.session.submit(request, key: "k")
        #expect(try await fixture.end(of: made.id)?.outcome == .success)
        let task = try #require(try await fixture.session.list(.ended(atMost: 1)).first)
        #expect(task.id == made.id && task.key == "k" && task.name == "n" && task.kind == .download)
        #expect(task.method == "GET" && task.url == server.url("/a") && task.file == directory.file("a"))
        #expect(task.end?.bytes == 1000 && task.end?.status == 200)
        #expect(try await fixture.session.list(.keyed("k")) == [task])
        #expect(try await fixture.session.list(.unfinished).isEmpty)
        await fixture.stop()
    }

    @Test("The journal counts the tasks that are not over, those of an earlier process included")
    func count() async throws {
        let directory = try TestDirectory()
        let first = try JournalFixture(directory)
        let request = try TaskRequest(url: "http://127.0.0.1:9/")
        for key in ["a", "b", "b"] { _ = try await first.session.submit(request, key: key, isSuspended: true) }
        #expect(first.journal.openTasks == 2)
        let last = try await first.session.submit(request, key: "b", onDuplicate: .replace, isSuspended: true)
        #expect(first.journal.openTasks == 2)
        #expect(try await first.session.cancel(last.id))
        #expect(first.journal.openTasks == 1)
        await first.stop()
        let second = try JournalFixture(directory)
        #expect(second.journal.openTasks == 1)
        await second.stop()
    }

    @Test("Rows of version 3 are listed, and lose their secrets if they are over")
    func migration() throws {
        let directory = try TestDirectory()
        try FileManager.default.createDirectory(atPath: directory.state, withIntermediateDirectories: true)
        let old = try DatabaseQueue(path: directory.journalFile)
        try JournalSchema.migrator.migrate(old, upTo: "3")
        try old.write { database in
            for (id, outcome) in [("1", "success"), ("2", nil)] {
                try database.execute(
                    sql: """
                        INSERT INTO task (id, accepted, description, suspensions, life, outcome, ended)
                        VALUES ('018bcfe5-6800-7000-8000-00000000000' || ?, 1, ?, 1,
                            '{"wall":1,"monotonic":1,"boot":"test","lived":[0,0]}', ?, ?)
                        """, arguments: [id, Self.oldDescription, outcome, outcome.map { _ in 1 }])
            }
        }
        try JournalSchema.migrator.migrate(old)
        try old.read { database in
            for (question, isOver) in [(JournalQuestion.ended(atMost: 9), true), (.unfinished, false)] {
                let task = try #require(try TaskRow.summaries(question, in: database).first)
                #expect(task.url == "http://h.example/x" && task.method == "PUT" && task.kind == .upload)
                let description = try #require(try TaskRow.all(question, in: database).first).description
                #expect(description.body == (isOver ? .removed : .data(Data([1, 2, 3]))))
                #expect(description.url == (isOver ? "http://h.example/x" : "http://h.example/x?token=t"))
            }
        }
        try old.close()
    }

    private static let oldDescription = """
        {"acceptsCompression":false,"body":{"data":{"_0":"AQID"}},"connectTimeout":[0,7000000000000000000],
        "destination":{"discard":{}},"headers":[],"idleTimeout":[3,4659767778871345152],"isMarkedIdempotent":false,
        "maxRedirects":10,"method":"PUT","password":"p","priority":0,"url":"http://h.example/x?token=t","user":"u",
        "usesHTTP2":false}
        """

    private static func execute(_ sql: String, _ directory: TestDirectory) async throws {
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }
}

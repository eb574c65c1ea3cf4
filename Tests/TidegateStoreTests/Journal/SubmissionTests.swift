import Foundation
import Testing
import TidegateStore
import TidegateCore
import TidegateSession
import TidegateTestKit

@Suite(.timeLimit(.minutes(5)))
struct SubmissionTests {
    private static func download(_ server: LiveServer, to path: String, _ at: String = "/") throws -> TaskRequest {
        var request = try TaskRequest(url: server.url(at))
        request.destination = .file(path)
        return request
    }

    @Test("A submitted download is performed, and its end is in the journal")
    func download() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        let made = try await fixture.session.submit(try Self.download(server, to: directory.file("a")))
        #expect(made.isNew)
        let end = try await fixture.end(of: made.id)
        #expect(end?.outcome == .success)
        #expect(end?.bytes == 100_000)
        #expect(directory.hasPattern("a", 100_000))
        await fixture.stop()
    }

    @Test("A suspended task survives its process, and runs when the next process resumes it")
    func suspended() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .pattern(1000, for: $0) }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let made = try await first.session.submit(
            try Self.download(server, to: directory.file("a")), isSuspended: true)
        await first.stop()
        #expect(server.requests.isEmpty)

        let second = try JournalFixture(directory)
        #expect(try await second.session.restore() == 1)
        #expect(await eventually { second.session.task(withID: made.id)?.info.state == .suspended })
        #expect(try await second.session.resume(made.id))
        #expect(try await second.end(of: made.id)?.outcome == .success)
        #expect(directory.hasPattern("a", 1000))
        await second.stop()
    }

    @Test("A shutdown leaves a download to the next process, which fetches only the rest")
    func left() async throws {
        let directory = try TestDirectory()
        let latch = Latch()
        let server = try LiveServer { request in
            request.number > 1
                ? .pattern(500_000, for: request)
                : LiveServerAnswer([
                    .send(LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 500000"])),
                    .pattern(from: 0, count: 200_000), .waitFor(latch),
                ])
        }
        defer { server.stop() }
        let first = try JournalFixture(directory)
        let made = try await first.session.submit(try Self.download(server, to: directory.file("a")))
        #expect(await eventually { first.session.task(withID: made.id)?.info.progress.received == 200_000 })
        await first.stop()
        latch.open()

        let second = try JournalFixture(directory)
        #expect(try await second.entry(made.id)?.hold?.offset == 200_000)
        #expect(try await second.session.restore() == 1)
        #expect(try await second.end(of: made.id)?.outcome == .success)
        #expect(server.requests.last?.field("range") == "bytes=200000-")
        #expect(directory.hasPattern("a", 500_000))
        await second.stop()
    }

    @Test("A submission with a known key returns the known task, finished or not")
    func keep() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .respond(text: "\($0.number)") }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        let request = try TaskRequest(url: server.url(), method: "POST", body: .data([1, 2, 3]))
        let first = try await fixture.session.submit(request, key: "k")
        let again = try await fixture.session.submit(request, key: "k")
        #expect(!again.isNew)
        #expect(again.id == first.id)
        #expect(try await fixture.end(of: first.id)?.outcome == .success)
        #expect(try await fixture.session.submit(request, key: "k").id == first.id)
        #expect(server.requests.count == 1)
        #expect(server.requests.first?.body == [1, 2, 3])
        await fixture.stop()
    }

    @Test("A task that is replaced is cancelled, and the new one takes its destination")
    func replace() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { request in
            request.path == "/old"
                ? LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 10"])), .hang])
                : .pattern(1000, for: request)
        }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        let old = try await fixture.session.submit(try Self.download(server, to: directory.file("a"), "/old"), key: "k")
        #expect(await eventually { server.requests.count == 1 })
        let new = try await fixture.session.submit(
            try Self.download(server, to: directory.file("a"), "/new"), key: "k", onDuplicate: .replace)
        #expect(new.isNew)
        #expect(try await fixture.end(of: new.id)?.outcome == .success)
        #expect(try await fixture.end(of: old.id)?.outcome == .cancelled)
        #expect(directory.hasPattern("a", 1000))
        await fixture.stop()
    }

    @Test("Of many tasks that replace each other concurrently one is left, the same in the session and in the journal")
    func replaceAtOnce() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        let session = fixture.session
        let ids = try await withThrowingTaskGroup(of: TaskID.self, returning: Set<TaskID>.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let request = try TaskRequest(url: "http://127.0.0.1:1/\(number)")
                    return try await session.submit(request, key: "k", onDuplicate: .replace, isSuspended: true).id
                }
            }
            var ids: Set<TaskID> = []
            for try await id in group { ids.insert(id) }
            return ids
        }
        #expect(ids.count == 200)
        let left = try await session.find(.unfinished).map(\.id)
        #expect(left.count == 1)
        let isAlone = await eventually { Self.open(ids, in: session) == Set(left) }
        #expect(isAlone, "\(Self.open(ids, in: session).count) tasks are left")
        await fixture.stop()
    }

    private static func open(_ ids: Set<TaskID>, in session: Session) -> Set<TaskID> {
        ids.filter { id in
            switch session.task(withID: id)?.info.state {
            case .suspended, .waiting, .running: true
            case .completed, nil: false
            }
        }
    }

    @Test("An appended task begins when its predecessor has ended")
    func append() async throws {
        let directory = try TestDirectory()
        let latch = Latch()
        let server = try LiveServer { request in
            request.path == "/1" ? LiveServerAnswer.respond(text: "1").after(latch) : .respond(text: "2")
        }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        let one = try await fixture.session.submit(try TaskRequest(url: server.url("/1")), key: "k")
        let two = try await fixture.session.submit(
            try TaskRequest(url: server.url("/2")), key: "k", onDuplicate: .append)
        #expect(await eventually { server.requests.count == 1 })
        #expect(
            await eventually {
                fixture.session.task(withID: two.id)?.info.state
                    == .waiting(.schedule, detail: "begins after the task \(one.id)")
            })
        latch.open()
        #expect(try await fixture.end(of: two.id)?.outcome == .success)
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        await fixture.stop()
    }

    @Test("A request that cannot survive its process is refused, and nothing is accepted")
    func refusals() async throws {
        let directory = try TestDirectory()
        let fixture = try JournalFixture(directory)
        var request = try TaskRequest(url: "http://127.0.0.1:1/")
        request.destination = .descriptor(1)
        await #expect(throws: TaskError.self) { try await fixture.session.submit(request) }
        request.destination = .file("relative")
        await #expect(throws: TaskError.self) { try await fixture.session.submit(request) }
        request.destination = .file(directory.path)
        await #expect(throws: TaskError.self) { try await fixture.session.submit(request) }
        let upload = try TaskRequest(
            url: "http://127.0.0.1:1/", method: "PUT", body: .file(directory.file("missing")))
        await #expect(throws: TaskError.self) { try await fixture.session.submit(upload) }
        #expect(try await fixture.session.find(.unfinished).isEmpty)
        await fixture.stop()
    }

    @Test("A file that was deleted, truncated or changed while its task was suspended is not sent")
    func changed() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .respond(text: "\($0.number)") }
        defer { server.stop() }
        let fixture = try JournalFixture(directory)
        var ids: [String: TaskID] = [:]
        for name in ["gone", "shrunk", "other", "same"] {
            try Data("content".utf8).write(to: URL(fileURLWithPath: directory.file(name)))
            let request = try TaskRequest(url: server.url(), method: "PUT", body: .file(directory.file(name)))
            ids[name] = try await fixture.session.submit(request, isSuspended: true).id
        }
        try FileManager.default.removeItem(atPath: directory.file("gone"))
        #expect(truncate(directory.file("shrunk"), 3) == 0)
        try Data("changed".utf8).write(to: URL(fileURLWithPath: directory.file("other")))
        for (name, failure) in [("gone", TaskFailure.fileError), ("shrunk", .bodyChanged), ("other", .bodyChanged)] {
            let id = try #require(ids[name])
            #expect(try await fixture.session.resume(id))
            #expect(try await fixture.end(of: id)?.failure == failure, "\(name)")
        }
        let same = try #require(ids["same"])
        #expect(try await fixture.session.resume(same))
        #expect(try await fixture.end(of: same)?.outcome == .success)
        #expect(server.requests.count == 1)
        await fixture.stop()
    }

    @Test("A file that was deleted before the restart fails its task and no other")
    func deleted() async throws {
        let directory = try TestDirectory()
        let server = try LiveServer { .respond(text: "\($0.number)") }
        defer { server.stop() }
        for name in ["gone", "other", "same"] {
            try Data("content".utf8).write(to: URL(fileURLWithPath: directory.file(name)))
        }
        let first = try JournalFixture(directory)
        var ids: [String: TaskID] = [:]
        for name in ["gone", "other", "same"] {
            let request = try TaskRequest(url: server.url(), method: "PUT", body: .file(directory.file(name)))
            ids[name] = try await first.session.submit(request, isSuspended: true).id
        }
        await first.stop()
        try FileManager.default.removeItem(atPath: directory.file("gone"))
        try Data("changed".utf8).write(to: URL(fileURLWithPath: directory.file("other")))

        let second = try JournalFixture(directory)
        try await second.session.restore()
        let same = try #require(ids["same"])
        #expect(try await second.session.resume(same))
        #expect(try await second.end(of: same)?.outcome == .success)
        #expect(try await second.end(of: #require(ids["gone"]))?.failure == .fileError)
        #expect(try await second.end(of: #require(ids["other"]))?.failure == .bodyChanged)
        await second.stop()
    }
}

extension LiveServerAnswer {
    /// The same answer, after the latch is opened.
    func after(_ latch: Latch) -> LiveServerAnswer { LiveServerAnswer([.waitFor(latch)] + self.steps) }
}

import Glibc
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit
import TidegateTransfer

@Suite(.timeLimit(.minutes(5)))
struct DownloadTests {
    private static let fast = Result { RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10)) }

    private static func fixture() throws -> SessionFixture { try SessionFixture(.with { $0.retry = self.fast.get() }) }

    private static func request(_ url: String, _ path: String, continues: Bool = false) throws -> TaskRequest {
        var request = try TaskRequest(url: url)
        request.destination = .file(path, continues: continues)
        return request
    }

    /// The pattern, broken off after `count` bytes.
    private static func broken(_ request: LiveServerRequest, at count: Int64, of total: Int64) -> LiveServerAnswer {
        let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: \(total)"])
        return LiveServerAnswer([.send(head), .pattern(from: 0, count: count), .close])
    }

    /// The events that say where a body went on.
    private static func continuations(of task: TaskID, _ fixture: SessionFixture) -> [String] {
        fixture.recorder.taskChanges(of: task).compactMap { change in
            guard case .continued(let offset, let total) = change else { return nil }
            return "\(offset) of \(total.map { "\($0)" } ?? "?")"
        }
    }

    @Test("A body that breaks off goes on where it ended, and nothing comes twice")
    func truncated() async throws {
        let scratch = try Scratch()
        let server = try LiveServer {
            $0.number == 1 ? Self.broken($0, at: 200_000, of: 500_000) : .pattern(500_000, for: $0)
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try Self.request(server.url(), scratch.file("a"))).result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("a", 500_000))
        #expect(result.refetchedBytes == 0)
        #expect(result.wireBytes == 500_000)
        #expect(result.bytes == 500_000)
        #expect(Self.continuations(of: result.id, fixture) == ["200000 of 500000"])
        #expect(server.requests.last?.field("range") == "bytes=200000-")
        #expect(server.requests.last?.field("if-range") == "\"tide\"")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that changed meanwhile starts again and is not mixed")
    func changed() async throws {
        let scratch = try Scratch()
        let server = try LiveServer {
            $0.number == 1 ? Self.broken($0, at: 200_000, of: 500_000) : .pattern(300_000, for: $0, etag: "\"new\"")
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.request(server.url(), scratch.file("a")))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("a", 300_000))
        #expect(result.bytes == 300_000)
        #expect(result.refetchedBytes == 200_000)
        #expect(fixture.eventNames(of: task).contains("restarted"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A range of another place makes the body start again once, and then fails")
    func mismatch() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.rangeStart != nil else { return Self.broken(request, at: 100_000, of: 200_000) }
            let fields = ["ETag: \"tide\"", "Content-Range: bytes 5-199999/200000", "Content-Length: 199995"]
            return LiveServerAnswer([.send(LiveServerAnswer.head(206, fields)), .pattern(from: 5, count: 199_995)])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.request(server.url(), scratch.file("a")))
        let result = await task.result()
        #expect(result.failure == .rangeMismatch)
        #expect(fixture.eventNames(of: task).filter { $0 == "restarted" }.count == 1)
        #expect(scratch.names == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What an earlier process left is continued, and nothing of it comes again")
    func continues() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(400_000, for: $0) }
        defer { server.stop() }
        scratch.write(LiveServerAnswer.bytes(count: 150_000), to: ".a.tidegate")
        let point = ResumePoint(offset: 150_000, validator: .etag("\"tide\""), total: 400_000)
        try DownloadPaths(destination: scratch.file("a")).writeRecord(url: server.url(), point)
        let fixture = try Self.fixture()
        let result = await fixture.run(try Self.request(server.url(), scratch.file("a"), continues: true)).result()
        #expect(result.outcome == .success)
        #expect(result.bytes == 250_000)
        #expect(result.refetchedBytes == 0)
        #expect(scratch.hasPattern("a", 400_000))
        #expect(scratch.names == ["a"])
        #expect(server.requests.first?.field("range") == "bytes=150000-")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Cancelled, a download is kept where it may be continued, and removed where not", arguments: [true, false])
    func cancelled(continues: Bool) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 120_000), .hang])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.request(server.url(), scratch.file("a"), continues: continues))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        task.cancel()
        let result = await task.result()
        #expect(result.outcome == .cancelled)
        #expect(scratch.names == (continues ? [".a.tidegate", ".a.tidegate.json"] : []))
        if continues {
            let record = try DownloadPaths(destination: scratch.file("a")).readRecord()
            #expect(record?.point.offset == Int64(scratch.bytes(".a.tidegate")?.count ?? -1))
            #expect(record?.point.validator == .etag("\"tide\""))
            #expect(record?.point.total == 400_000)
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download that cannot be moved to its place fails, says so with the error number, and leaves nothing")
    func moveFails() async throws {
        let scratch = try Scratch()
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 1000"])), .pattern(from: 0, count: 500),
                .waitFor(latch), .pattern(from: 500, count: 500),
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.request(server.url(), scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire == 500 })
        #expect(mkdir(scratch.file("a"), 0o755) == 0)
        latch.open()
        let result = await task.result()
        #expect(result.failure == .fileError)
        let moves = fixture.recorder.taskChanges(of: task.id).compactMap { change -> String? in
            switch change {
            case .moved: "moved"
            case .moveFailed(let file, let number): "\(file) \(number)"
            default: nil
            }
        }
        #expect(moves == ["\(scratch.file("a")) \(EISDIR)"])
        #expect(scratch.names == ["a"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A destination that cannot be is refused before anything is asked for, in one sentence that names it")
    func badDestination() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in .respond(text: "never") }
        defer { server.stop() }
        let fixture = try Self.fixture()
        for (path, message) in [
            (scratch.file("missing/a"), "the directory \(scratch.path)/missing does not exist"),
            (scratch.path, "\(scratch.path) is a directory"),
            ("/dev/null/a", "/dev/null is not a directory"),
        ] {
            let result = await fixture.run(try Self.request(server.url(), path)).result()
            #expect(result.failure == .fileError)
            #expect(result.explanation?.hasPrefix(message) == true, "\(result.explanation ?? "")")
            #expect(result.attempts == 0)
        }
        #expect(server.requests.isEmpty)
        #expect(scratch.names == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body whose end nothing proves does not become a file")
    func unproved() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Connection: close"])), .pattern(from: 0, count: 900), .close,
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try Self.request(server.url(), scratch.file("a"))).result()
        #expect(result.failure == .truncated)
        #expect(scratch.names == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A pipe gets the body once and in order, although it came in two attempts")
    func pipe() async throws {
        let scratch = try Scratch()
        let server = try LiveServer {
            $0.number == 1 ? Self.broken($0, at: 30_000, of: 50_000) : .pattern(50_000, for: $0)
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let output = try ScratchOutput(scratch.file("pipe"))
        var request = try TaskRequest(url: server.url())
        request.destination = .descriptor(output.descriptor)
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("pipe", 50_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download to a device is written to it, and to a pipe without a reader refused before a request")
    func devices() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in .respond(text: "body") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file("/dev/null")
        #expect(await fixture.run(request).result().outcome == .success)
        let pipe = scratch.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        request.destination = .file(pipe)
        let refused = await fixture.run(request).result()
        #expect(refused.failure == .fileError && server.requests.count == 1)
        #expect(
            refused.explanation == "\(pipe) is a pipe that no process reads, or a device that is absent",
            "\(refused.explanation ?? "")")
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(await fixture.run(request).result().outcome == .success)
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &bytes, 16) == 4 && bytes.starts(with: Array("body".utf8)))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download through a link leaves the link, and its part is continued beside the end of the link")
    func link() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number == 1 else { return .pattern(200_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 200000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 100_000), .close])
        }
        defer { server.stop() }
        #expect(symlink("end", scratch.file("link")) == 0)
        let fixture = try SessionFixture(.with { $0.retry = .never })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("link"), continues: true)
        #expect(await fixture.run(request).result().outcome == .failure)
        #expect(scratch.names == [".end.tidegate", ".end.tidegate.json", "link"])
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success && result.file == scratch.file("link"))
        #expect(server.requests.last?.rangeStart == 100_000)
        #expect(scratch.names == ["end", "link"] && scratch.hasPattern("end", 200_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

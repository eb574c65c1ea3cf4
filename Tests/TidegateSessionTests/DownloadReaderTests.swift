import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// The bytes of downloads, read while they come in.
@Suite(.timeLimit(.minutes(5)))
struct DownloadReaderTests {
    private static let size: Int64 = 400_000
    private static let half: Int64 = 150_000
    private static let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: \(size)"])

    /// Sends half of its first answer, waits, and hangs up; other answers are whole.
    private static func breaking(_ latch: Latch, etag: String = "\"tide\"") throws -> LiveServer {
        try LiveServer { request in
            guard request.number == 1 else {
                let rest = LiveServerAnswer.pattern(Self.size, for: request, etag: etag)
                return LiveServerAnswer([.wait(milliseconds: 200)] + rest.steps)
            }
            return LiveServerAnswer([.send(Self.head), .pattern(from: 0, count: Self.half), .waitFor(latch), .close])
        }
    }

    private static func fixture() throws -> SessionFixture {
        try SessionFixture(.with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
    }

    private static func download(_ server: LiveServer, _ path: String) throws -> TaskRequest {
        var request = try TaskRequest(url: server.url())
        request.destination = .file(path)
        return request
    }

    // Compared here, because a mismatch would print both.
    private static func isPattern(_ bytes: [UInt8], _ count: Int64) -> Bool {
        bytes == LiveServerAnswer.bytes(count: count)
    }

    /// Reads to the end, and calls `halfway` once half of the body was read.
    private static func read(_ task: TransferTask, halfway: () -> Void = {}) async -> ([UInt8], TaskError?) {
        var bytes: [UInt8] = []
        do {
            for try await chunk in task.fileChunks() {
                #expect(!chunk.isEmpty && chunk.count <= 64 << 10)
                bytes += chunk
                if bytes.count == Int(Self.half) { halfway() }
            }
            return (bytes, nil)
        } catch {
            return (bytes, error as? TaskError)
        }
    }

    @Test("Bytes can be read before the file is complete, and the end comes with the file")
    func whileItComesIn() async throws {
        let (scratch, latch) = (try Scratch(), Latch())
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(Self.head), .pattern(from: 0, count: Self.half), .waitFor(latch),
                .pattern(from: Self.half, count: Self.size - Self.half),
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.download(server, scratch.file("a")))
        let (bytes, error) = await Self.read(task) {
            #expect(task.state == .running(attempt: 1) && scratch.names == [".a.tidegate"])
            latch.open()
        }
        #expect(latch.isOpen && error == nil)
        #expect(Self.isPattern(bytes, Self.size))
        #expect(scratch.names == ["a"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download that goes on after a broken connection delivers each byte once")
    func brokenConnection() async throws {
        let (scratch, latch) = (try Scratch(), Latch())
        let server = try Self.breaking(latch)
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.download(server, scratch.file("a")))
        let (bytes, error) = await Self.read(task, halfway: latch.open)
        #expect(error == nil && Self.isPattern(bytes, Self.size))
        #expect(server.requests.map(\.rangeStart) == [nil, Self.half])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "Bytes that an earlier task left are delivered first, unless the server has another body by now",
        arguments: ["\"tide\"", "\"ebb\""])
    func resumed(etag: String) async throws {
        let (scratch, latch) = (try Scratch(), Latch())
        let server = try Self.breaking(latch, etag: etag)
        defer { server.stop() }
        let fixture = try Self.fixture()
        let first = fixture.run(try Self.download(server, scratch.file("a")))
        #expect(await fixture.wait { first.currentProgress.received == Self.half })
        let data = try #require(await first.cancelProducingResumeData())
        // Bytes that the server must not confirm.
        if etag != "\"tide\"" { scratch.write([UInt8](repeating: 0, count: Int(Self.half)), to: ".a.tidegate") }
        let task = fixture.run(try TaskRequest(resuming: data))
        // The part is open, and the server has not answered yet.
        #expect(await fixture.wait { server.requests.count == 2 })
        let (bytes, error) = await Self.read(task)
        #expect(error == nil)
        #expect(Self.isPattern(bytes, Self.size))
        #expect(server.requests.last?.rangeStart == Self.half)
        #expect(fixture.eventNames(of: task).contains("restarted") == (etag == "\"ebb\""))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that begins again after bytes were read is an error of the reader, and the download goes on")
    func beganAgain() async throws {
        let (scratch, latch) = (try Scratch(), Latch())
        let server = try Self.breaking(latch, etag: "\"ebb\"")
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.download(server, scratch.file("a")))
        let (bytes, error) = await Self.read(task, halfway: latch.open)
        #expect(error?.reason == .rangeMismatch)
        #expect(error?.underlying == "the download began again after bytes had been read")
        #expect(Self.isPattern(bytes, Self.half))
        #expect(await task.result().outcome == .success)
        #expect(scratch.hasPattern("a", Self.size))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The task's error comes after the bytes that were received: broken, cancelled, or of another digest")
    func failure() async throws {
        let scratch = try Scratch()
        let fixture = try SessionFixture(.with { $0.retry = .never })
        for reason in [TaskFailure.truncated, .cancelled, .digestMismatch] {
            let latch = Latch()
            let server = try LiveServer { request in
                guard reason != .digestMismatch else { return .pattern(Self.half, for: request) }
                return LiveServerAnswer([
                    .send(Self.head), .pattern(from: 0, count: Self.half), .waitFor(latch), .close,
                ])
            }
            defer { server.stop() }
            var request = try Self.download(server, scratch.file("a"))
            if reason == .digestMismatch { request.options.sha256 = ContentDigest(of: [1]) }
            let task = fixture.run(request)
            let (bytes, error) = await Self.read(task) { reason == .cancelled ? task.cancel() : latch.open() }
            #expect(error?.reason == reason)
            #expect(Self.isPattern(bytes, Self.half))
            #expect(scratch.names.isEmpty)
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A reader that leaves or does not read neither ends nor slows the download, and a later one reads the file")
    func late() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(8 << 20, for: $0) }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.session.makeTask(try Self.download(server, scratch.file("a")))
        let idle = task.fileChunks()
        task.resume()
        for try await _ in task.fileChunks() { break }
        #expect(await task.result().outcome == .success)
        for chunks in [idle, task.fileChunks()] {
            var bytes: [UInt8] = []
            for try await chunk in chunks { bytes += chunk }
            #expect(Self.isPattern(bytes, 8 << 20))
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A file that its server confirmed is read whole, an empty one has no bytes, and memory is no file")
    func others() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            if request.path == "/empty" { return .respond(204) }
            return request.field("if-none-match") == nil
                ? .respond(200, ["ETag: \"1\""], text: "one")
                : LiveServerAnswer([.send(LiveServerAnswer.head(304, []))])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.validators = try ValidatorStore(directory: scratch.file("store")) })
        for isConfirmed in [false, true] {
            let task = fixture.run(try Self.download(server, scratch.file("a")))
            let (bytes, error) = await Self.read(task)
            #expect(error == nil && bytes == Array("one".utf8))
            #expect(await task.result().isRevalidated == isConfirmed)
        }
        var request = try TaskRequest(url: server.url("/empty"))
        request.destination = .file(scratch.file("b"))
        let empty = await Self.read(fixture.run(request))
        #expect(empty.0.isEmpty && empty.1 == nil)
        let memory = await Self.read(fixture.run(try TaskRequest(url: server.url("/empty"))))
        #expect(memory.1?.reason == .invalidRequest)
        #expect(memory.1?.underlying == "the task's body did not go into a file")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Cancelling the reading Swift task ends the reading alone, even while nothing comes")
    func cancelledReader() async throws {
        let (scratch, latch) = (try Scratch(), Latch())
        let server = try Self.breaking(latch)
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try Self.download(server, scratch.file("a")))
        let read = Latch()
        let reading = Task { await Self.read(task, halfway: read.open) }
        #expect(await fixture.wait { read.isOpen })
        reading.cancel()
        let (bytes, error) = await reading.value
        #expect(error == nil && bytes.count == Int(Self.half))
        latch.open()
        #expect(await task.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

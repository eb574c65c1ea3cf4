import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit
import TidegateTransfer

/// Who is shown the bytes of bodies on their way.
@Suite(.timeLimit(.minutes(5)))
struct DataObserverTests {
    /// What a closure was shown.
    private final class Shown: Sendable {
        struct Piece: Equatable {
            let task: TaskID
            let offset: Int64
            let bytes: [UInt8]
        }

        private let pieces = Mutex<[Piece]>([])

        var observer: TaskObserver {
            TaskObserver(data: { task, offset, bytes in
                self.pieces.withLock { $0.append(Piece(task: task.id, offset: offset, bytes: bytes)) }
            })
        }

        func all(of task: TransferTask) -> [Piece] { self.pieces.withLock { $0 }.filter { $0.task == task.id } }

        func bytes(of task: TransferTask) -> [UInt8] { self.all(of: task).flatMap(\.bytes) }

        /// True where every piece begins where the one before it ended.
        func isWithoutGaps(_ task: TransferTask) -> Bool {
            var next: Int64 = 0
            return self.all(of: task).allSatisfy { piece in
                defer { next = piece.offset + Int64(piece.bytes.count) }
                return piece.offset == next && !piece.bytes.isEmpty
            }
        }
    }

    private static let size: Int64 = 200_000
    private static let whole = LiveServerAnswer.bytes(count: size)

    private static func soon() -> RetryPolicy {
        RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
    }

    /// Hangs up within its first answer.
    private static func breakingServer() throws -> LiveServer {
        try LiveServer { request in
            guard request.number == 1 else { return .pattern(Self.size, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: \(Self.size)"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 50_000), .close])
        }
    }

    @Test("The session's closure is shown the bytes of every body, the task's own those of its own")
    func both() async throws {
        let server = try LiveServer { .pattern(Self.size, for: $0, slice: 20_000, pauseMilliseconds: 2) }
        defer { server.stop() }
        let (all, own) = (Shown(), Shown())
        let fixture = try SessionFixture(observer: all.observer)
        let first = fixture.session.makeTask(
            try TaskRequest(url: server.url()), options: TaskOptions(observer: own.observer))
        first.resume()
        let second = fixture.run(try TaskRequest(url: server.url()))
        _ = (await first.result(), await second.result())
        for task in [first, second] {
            #expect(all.bytes(of: task) == Self.whole)
            #expect(all.isWithoutGaps(task))
            #expect(task.body() == Self.whole)
        }
        #expect(own.all(of: first) == all.all(of: first))
        #expect(own.all(of: second).isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bytes are shown between the head and the end, and no later than the progress that counts them")
    func order() async throws {
        let server = try LiveServer { .pattern(Self.size, for: $0, slice: 20_000, pauseMilliseconds: 20) }
        defer { server.stop() }
        let events = Mutex<[String]>([])
        let count = Mutex<Int64>(0)
        let fixture = try SessionFixture()
        let observer = TaskObserver(
            response: { _, _ in events.withLock { $0.append("head") } },
            data: { _, offset, bytes in
                count.withLock { $0 = offset + Int64(bytes.count) }
                events.withLock { $0.append("data") }
            },
            progress: { _, progress in
                let shown = count.withLock { $0 }
                events.withLock { $0.append(progress.received <= shown ? "progress" : "progress too early") }
            },
            completion: { _, _ in events.withLock { $0.append("end") } })
        let task = fixture.session.makeTask(
            try TaskRequest(url: server.url()), options: TaskOptions(observer: observer))
        task.resume()
        _ = await task.result()
        let seen = events.withLock { $0 }
        #expect(seen.first == "head" && seen.last == "end", "\(seen)")
        #expect(seen.count { $0 == "data" } > 1)
        #expect(!seen.contains("progress too early"))
        #expect(count.withLock { $0 } == Self.size)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An attempt that begins anew shows the body from its start, one that continues goes on")
    func attempts() async throws {
        let server = try Self.breakingServer()
        defer { server.stop() }
        let shown = Shown()
        let fixture = try SessionFixture(.with { $0.retry = Self.soon() }, observer: shown.observer)
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await task.result().outcome == .success)
        let pieces = shown.all(of: task)
        let again = try #require(pieces.lastIndex { $0.offset == 0 })
        #expect(again > 0)
        #expect(pieces[again...].flatMap(\.bytes) == Self.whole)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that goes to a reader is shown once, over a broken connection as well")
    func stream() async throws {
        let server = try Self.breakingServer()
        defer { server.stop() }
        let shown = Shown()
        let fixture = try SessionFixture(.with { $0.retry = Self.soon() }, observer: shown.observer)
        let stream = BodyStream()
        var request = try TaskRequest(url: server.url())
        request.destination = .stream(stream)
        request.options.sha256 = ContentDigest(of: Self.whole)
        let task = fixture.run(request)
        var read: [UInt8] = []
        for try await chunk in stream { read += chunk }
        #expect(await task.result().outcome == .success)
        #expect(server.requests.count == 2)
        #expect(read == Self.whole)
        #expect(shown.bytes(of: task) == Self.whole)
        #expect(shown.isWithoutGaps(task))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What is thrown away is shown, what goes into a file or belongs to an error is not")
    func others() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            request.path == "/no" ? .respond(404, text: "not here") : .pattern(Self.size, for: request)
        }
        defer { server.stop() }
        let shown = Shown()
        let fixture = try SessionFixture(observer: shown.observer)
        var nowhere = try TaskRequest(url: server.url())
        nowhere.destination = .discard
        let thrown = fixture.run(nowhere)
        var download = try TaskRequest(url: server.url())
        download.destination = .file(scratch.file("a"))
        let file = fixture.run(download)
        let refused = fixture.run(try TaskRequest(url: server.url("/no")))
        _ = (await thrown.result(), await file.result(), await refused.result())
        #expect(shown.bytes(of: thrown) == Self.whole)
        #expect(scratch.hasPattern("a", Self.size))
        #expect(shown.all(of: file).isEmpty)
        #expect(shown.all(of: refused).isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "An observer sees every byte of a body that grows by a thousand when it is decoded", arguments: [false, true])
    func bomb(isStream: Bool) async throws {
        let count = 8 << 20
        let zeros = [UInt8](repeating: 0, count: count)
        let body = if let encoder = GzipEncoder() { encoder.encode(zeros, isLast: true) } else { [UInt8]() }
        try #require(!body.isEmpty)
        let server = try LiveServer { _ in .respond(200, ["Content-Encoding: gzip"], body: body) }
        defer { server.stop() }
        let seen = Mutex(0)
        let observer = TaskObserver(data: { _, _, bytes in seen.withLock { $0 += bytes.count } })
        let fixture = try SessionFixture(observer: observer)
        var request = try TaskRequest(url: server.url())
        let stream = BodyStream(limit: 1 << 16)
        request.destination = isStream ? .stream(stream) : .discard
        request.options.acceptsCompression = true
        let task = fixture.run(request)
        if isStream { for try await _ in stream {} }
        let result = await task.result()
        #expect(result.outcome == .success, "\(result)")
        #expect(result.bytes == Int64(count))
        #expect(seen.withLock { $0 } == count)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A task may be cancelled while its bytes are shown, and a closure that takes its time is waited for")
    func slowAndCancelled() async throws {
        let server = try LiveServer { .pattern(8 << 20, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let latch = Latch()
        let count = Mutex<Int64>(0)
        let observer = TaskObserver(data: { task, offset, bytes in
            latch.wait()
            count.withLock { $0 = offset + Int64(bytes.count) }
            task.cancel()
        })
        let task = fixture.session.makeTask(
            try TaskRequest(url: server.url()), options: TaskOptions(observer: observer))
        task.resume()
        #expect(await fixture.wait { server.requests.count == 1 })
        latch.open()
        #expect(await task.result().outcome == .cancelled)
        let seen = count.withLock { $0 }
        #expect(seen > 0 && seen < 8 << 20, "\(seen)")
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

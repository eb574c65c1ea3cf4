import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

/// Bodies that go to readers and come from streams.
@Suite(.timeLimit(.minutes(5)))
struct StreamTests {
    private static func streamed(_ url: String, _ stream: BodyStream) throws -> TaskRequest {
        var request = try TaskRequest(url: url)
        request.destination = .stream(stream)
        return request
    }

    // MARK: - Answers

    @Test("A reader gets the body in order, whole and once, and then the end")
    func read() async throws {
        let server = try LiveServer { .pattern(700_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream()
        let task = fixture.run(try Self.streamed(server.url(), stream))
        var bytes: [UInt8] = []
        for try await chunk in stream { bytes += chunk }
        #expect(bytes == LiveServerAnswer.bytes(count: 700_000))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.kind == .download)
        #expect(stream.statistics.bytes == 700_000)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A reader that does not read pauses its transfer: bounded, counted, and never idle")
    func backPressure() async throws {
        let server = try LiveServer { .pattern(8 << 20, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream(limit: 64 * 1024)
        var request = try Self.streamed(server.url(), stream)
        request.idleTimeout = .seconds(4)
        let task = fixture.run(request)
        #expect(await fixture.wait { stream.statistics.pauses > 0 })
        try await Task.sleep(for: .milliseconds(4500))
        let held = stream.statistics.bytes
        #expect(held <= 64 * 1024 + 128 * 1024)
        #expect(task.state == .running(attempt: 1))
        var count: Int64 = 0
        var isRight = true
        for try await chunk in stream {
            isRight = isRight && chunk == LiveServerAnswer.bytes(from: count, count: Int64(chunk.count))
            count += Int64(chunk.count)
        }
        #expect(isRight)
        #expect(count == 8 << 20)
        #expect(await task.result().attempts == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A reader that goes away cancels the transfer")
    func leave() async throws {
        let server = try LiveServer { .pattern(8 << 20, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream(limit: 64 * 1024)
        let task = fixture.run(try Self.streamed(server.url(), stream))
        for try await _ in stream { break }
        #expect(await task.result().outcome == .cancelled)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A failure reaches the reader after the bytes that came")
    func failure() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 100"]) + [1, 2, 3]), .close])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.init(retry: .never))
        let stream = BodyStream()
        let task = fixture.run(try Self.streamed(server.url(), stream))
        var bytes: [UInt8] = []
        do {
            for try await chunk in stream { bytes += chunk }
            Issue.record("the body ended as if it were whole")
        } catch {
            #expect(error.reason == .truncated)
        }
        #expect(bytes == [1, 2, 3])
        #expect(await task.result().failure == .truncated)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that breaks off goes on in the same stream, and nothing comes twice")
    func goesOn() async throws {
        let server = try LiveServer { request in
            guard request.rangeStart == nil else { return .pattern(400_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 150_000), .reset])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .init(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))))
        let stream = BodyStream()
        let task = fixture.run(try Self.streamed(server.url(), stream))
        var bytes: [UInt8] = []
        for try await chunk in stream { bytes += chunk }
        #expect(bytes == LiveServerAnswer.bytes(count: 400_000))
        #expect(await task.result().refetchedBytes == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream belongs to the first task that is made with it")
    func claimed() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream()
        let request = try Self.streamed(server.url(), stream)
        let first = fixture.run(request)
        #expect(await first.result().outcome == .success)
        let second = await fixture.run(request).result()
        #expect(second.failure == .invalidRequest)
        #expect(second.explanation == "the stream for the body is another task's")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The end of a session ends a reader's wait")
    func sessionEnds() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream()
        let request = try Self.streamed(server.url(), stream)
        _ = fixture.run(request)
        let reader = Task { () -> TaskFailure? in
            do {
                for try await _ in stream {}
                return nil
            } catch let error as TaskError {
                return error.reason
            } catch {
                return nil
            }
        }
        #expect(await fixture.wait { server.requests.count == 1 })
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(await reader.value == .cancelled)
    }

    // MARK: - Requests

    private final class Chunks: Sendable {
        private let rest: Mutex<[[UInt8]]>
        init(_ chunks: [[UInt8]]) { self.rest = Mutex(chunks) }
        func next() -> [UInt8]? { self.rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    static func stream(_ chunks: [[UInt8]], length: Int64? = nil, delay: Duration? = nil) -> UploadStream {
        let rest = Chunks(chunks)
        return UploadStream(length: length) {
            if let delay { try await Task.sleep(for: delay) }
            return rest.next()
        }
    }

    private static let chunks: [[UInt8]] = (0..<5).map { [UInt8](repeating: UInt8($0), count: 50_000) }

    @Test("A stream is sent as it is made, with a length or in chunks", arguments: [250_000, nil] as [Int64?])
    func send(length: Int64?) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = Self.stream(Self.chunks, length: length, delay: .milliseconds(5))
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .stream(stream)))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.kind == .upload)
        #expect(server.requests.first?.body == Self.chunks.flatMap { $0 })
        #expect(server.requests.first?.field("content-length") == length.map { "\($0)" })
        #expect(task.upload.total == length)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that takes its time is no idle transfer, and delayed chunks show as progress")
    func slowStream() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = Self.stream(Array(Self.chunks.prefix(2)), length: 100_000, delay: .milliseconds(4500))
        var request = try TaskRequest(url: server.url(), method: "POST", body: .stream(stream))
        request.idleTimeout = .seconds(4)
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        let sent = fixture.recorder.taskChanges(of: task.id).compactMap { change -> Int64? in
            if case .progress(let progress, _) = change { progress.sent } else { nil }
        }
        #expect(Set(sent).count > 1)
        #expect(sent == sent.sorted())
        #expect(sent.last == 100_000)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that was read is not sent again without another one; with one it is")
    func replay() async throws {
        let server = try LiveServer { request in
            request.number % 2 == 1 ? .respond(503) : .respond(text: "ok")
        }
        defer { server.stop() }
        let retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
        let fixture = try SessionFixture(.init(retry: retry))
        func request() throws -> TaskRequest {
            try TaskRequest(url: server.url(), method: "PUT", body: .stream(Self.stream(Self.chunks)))
        }
        let alone = await fixture.run(try request()).result()
        #expect(alone.failure == .httpStatus)
        #expect(alone.status == 503)
        #expect(server.requests.count == 1)
        let options = TaskOptions(hooks: SessionHooks(newBodyStream: { _ in Self.stream([[7, 7]]) }))
        _ = await fixture.run(try TaskRequest(url: server.url())).result()
        let again = fixture.session.makeTask(try request(), options: options)
        again.resume()
        #expect(await again.result().outcome == .success)
        #expect(server.requests.last?.body == [7, 7])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream of which nothing was read may begin another attempt")
    func untouched() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let resolver = ScriptedResolver()
        resolver.hold()
        let fixture = try SessionFixture(resolver: resolver)
        resolver.say(.success([try #require(IPAddress("127.0.0.1"))]), about: "tide.test")
        let url = "http://tide.test:\(server.port)/"
        let task = fixture.run(try TaskRequest(url: url, method: "POST", body: .stream(Self.stream(Self.chunks))))
        #expect(await fixture.wait { task.state == .running(attempt: 1) })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        task.resume()
        resolver.answer()
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map(\.body.count) == [250_000])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that ends early or throws fails the task, and the server gets no whole request")
    func broken() async throws {
        struct Broken: Error {}
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let short = Self.stream([[1, 2, 3]], length: 10)
        let thrown = UploadStream(length: 10) { throw Broken() }
        for stream in [short, thrown] {
            let result = await fixture.run(
                try TaskRequest(url: server.url(), method: "POST", body: .stream(stream))
            ).result()
            #expect(result.failure == .bodyChanged)
        }
        #expect(server.requests.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

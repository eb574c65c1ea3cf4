import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Bodies that go to readers and come from streams.
@Suite(.timeLimit(.minutes(5)))
struct UploadStreamTests {
    private static let chunks: [[UInt8]] = (0..<5).map { [UInt8](repeating: UInt8($0), count: 50_000) }

    @Test("A stream is sent while it is made, with a length or in chunks", arguments: [250_000, nil] as [Int64?])
    func send(length: Int64?) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = SessionFixture.stream(Self.chunks, length: length, delay: .milliseconds(5))
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
        let stream = SessionFixture.stream(Array(Self.chunks.prefix(2)), length: 100_000, delay: .milliseconds(4500))
        var request = try TaskRequest(url: server.url(), method: "POST", body: .stream(stream))
        request.options.idleTimeout = .seconds(4)
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
        let fixture = try SessionFixture(.with { $0.retry = retry })
        func request() throws -> TaskRequest {
            try TaskRequest(url: server.url(), method: "PUT", body: .stream(SessionFixture.stream(Self.chunks)))
        }
        let alone = await fixture.run(try request()).result()
        #expect(alone.failure == .httpStatus)
        #expect(alone.status == 503)
        #expect(server.requests.count == 1)
        let options = TaskOptions(hooks: SessionHooks(newBodyStream: { _ in SessionFixture.stream([[7, 7]]) }))
        _ = await fixture.run(try TaskRequest(url: server.url())).result()
        let again = fixture.session.makeTask(try request(), options: options)
        again.resume()
        #expect(await again.result().outcome == .success)
        #expect(server.requests.last?.body == [7, 7])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The failure of an upload outlives a hook that gives no new stream", arguments: [true, false])
    func noNewStream(isCut: Bool) async throws {
        let server = try LiveServer { _ in isCut ? LiveServerAnswer([.reset]) : .respond(503) }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
        let request = try TaskRequest(
            url: server.url(), method: "PUT", body: .stream(SessionFixture.stream(Self.chunks)))
        let task = fixture.session.makeTask(
            request, options: TaskOptions(hooks: SessionHooks(newBodyStream: { _ in nil })))
        task.resume()
        let result = await task.result()
        #expect(result.failure == (isCut ? .reset : .httpStatus))
        #expect(result.attribution?.party == .theirs)
        let clause = ", and no new stream was given to send the body again"
        #expect(result.explanation?.hasPrefix("\(server.url()): ") == true)
        #expect(result.explanation?.hasSuffix(clause) == true, "\(result.explanation ?? "")")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An unread stream may begin another attempt")
    func untouched() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let resolver = ScriptedResolver()
        resolver.hold()
        let fixture = try SessionFixture(resolver: resolver)
        resolver.say(.success([try #require(IPAddress("127.0.0.1"))]), about: "tide.test")
        let url = "http://tide.test:\(server.port)/"
        let task = fixture.run(
            try TaskRequest(url: url, method: "POST", body: .stream(SessionFixture.stream(Self.chunks))))
        #expect(await fixture.wait { task.state == .running(attempt: 1) })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        task.resume()
        resolver.answer()
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map(\.body.count) == [250_000])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that one task sends is not stopped by another task's end")
    func otherTask() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let mayGoOn = Latch()
        let given = Mutex(0)
        let stream = UploadStream {
            let number = given.withLock { count in
                count += 1
                return count
            }
            if number == 2 { while !mayGoOn.isOpen { try await Task.sleep(for: .milliseconds(1)) } }
            return number <= 3 ? [UInt8(number)] : nil
        }
        let request = try TaskRequest(url: server.url(), method: "POST", body: .stream(stream))
        let first = fixture.run(request)
        #expect(await fixture.wait { given.withLock { $0 } == 2 })
        let second = await fixture.run(request).result()
        #expect(second.failure == .invalidRequest)
        #expect(second.explanation == "the stream for the request's body belongs to another task")
        mayGoOn.open()
        #expect(await first.result().outcome == .success)
        #expect(server.requests.map(\.body) == [[1, 2, 3]])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bytes sent are the body's, without what frames its chunks")
    func sentBytes() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(
            try TaskRequest(url: server.url(), method: "POST", body: .stream(SessionFixture.stream(Self.chunks))))
        #expect(await task.result().outcome == .success)
        #expect(task.currentProgress.sent == 250_000)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that goes on after its length fails the task, and the server gets no whole request")
    func tooLong() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        for chunks in [[[1, 2, 3, 4, 5]], [[1, 2], [3, 4], [5]], [[1, 2], [3, 4, 5]]] as [[[UInt8]]] {
            let stream = SessionFixture.stream(chunks, length: 4)
            let result = await fixture.run(
                try TaskRequest(url: server.url(), method: "POST", body: .stream(stream))
            ).result()
            #expect(result.failure == .bodyChanged)
            #expect(result.explanation?.contains("the body's stream is longer than its 4 bytes") == true)
        }
        #expect(server.requests.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that ends early or throws fails the task, and the server gets no whole request")
    func broken() async throws {
        struct Broken: Error {}
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let short = SessionFixture.stream([[1, 2, 3]], length: 10)
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

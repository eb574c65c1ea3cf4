import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Bodies that go to readers and come from streams.
@Suite(.timeLimit(.minutes(5)))
struct StreamTests {
    private static func streamed(_ url: String, _ stream: BodyStream) throws -> TaskRequest {
        var request = try TaskRequest(url: url)
        request.destination = .stream(stream)
        return request
    }

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
        request.options.idleTimeout = .seconds(4)
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
        let fixture = try SessionFixture(.with { $0.retry = .never })
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
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
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
        #expect(second.explanation == "the stream for the response's body belongs to another task")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A second task with a stream, failed or cancelled, takes nothing from the first one's",
        arguments: [true, false])
    func secondTask(isCancelled: Bool) async throws {
        let mayGoOn = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 300000"])), .pattern(from: 0, count: 100_000),
                .waitFor(mayGoOn), .pattern(from: 100_000, count: 200_000),
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let stream = BodyStream(limit: 1 << 20)
        let request = try Self.streamed(server.url(), stream)
        let first = fixture.run(request)
        #expect(await fixture.wait { first.currentProgress.receivedWire >= 100_000 })
        let second = fixture.session.makeTask(request)
        if isCancelled { second.cancel() } else { second.resume() }
        #expect(await second.result().failure == (isCancelled ? .cancelled : .invalidRequest))
        mayGoOn.open()
        var bytes: [UInt8] = []
        for try await chunk in stream { bytes += chunk }
        #expect(bytes == LiveServerAnswer.bytes(count: 300_000))
        #expect(await first.result().outcome == .success)
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
}

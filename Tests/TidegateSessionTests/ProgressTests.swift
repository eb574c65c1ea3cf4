import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Progress, bound to its task both ways.
@Suite(.timeLimit(.minutes(5)))
struct ProgressTests {
    private static func progress(of task: TransferTask, _ fixture: SessionFixture) -> [TransferProgress] {
        fixture.recorder.taskChanges(of: task.id).compactMap { change in
            if case .progress(let progress, _) = change { progress } else { nil }
        }
    }

    @Test("A download of known length ends at exactly 1 and has been between 0 and 1 before")
    func download() async throws {
        let server = try LiveServer { .pattern(400_000, for: $0, slice: 40_000, pauseMilliseconds: 30) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        _ = await task.result()
        let fractions = Self.progress(of: task, fixture).compactMap(\.fraction)
        #expect(fractions.contains { $0 > 0 && $0 < 1 })
        #expect(fractions == fractions.sorted())
        #expect(fractions.last == 1)
        #expect(task.download.fraction == 1)
        #expect(task.download.completed == 400_000)
        #expect(fractions.count <= 12)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An upload of 20 kB reaches exactly 1")
    func upload() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let body = LiveServerAnswer.bytes(count: 20_000)
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data(body)))
        _ = await task.result()
        #expect(Self.progress(of: task, fixture).last?.fractionSent == 1)
        #expect(task.upload.fraction == 1)
        #expect(task.upload.completed == 20_000)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("While its body is sent a task says so, in its progress, its document and the statistics")
    func sending() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let mayGoOn = Latch()
        let given = Mutex(0)
        let stream = UploadStream(length: 4096) {
            let number = given.withLock { number in
                number += 1
                return number
            }
            if number == 2 { while !mayGoOn.isOpen { try await Task.sleep(for: .milliseconds(1)) } }
            return number <= 2 ? Array(repeating: 7, count: 2048) : nil
        }
        let task = fixture.run(try TaskRequest(url: server.url(), method: "PUT", body: .stream(stream)))
        #expect(await fixture.wait { task.info.progress.sent == 2048 })
        let document = TaskDocument(task.info)
        #expect(document.sending == true && document.sentBytes == 2048 && document.expectedSentBytes == 4096)
        #expect(document.sentFraction == 0.5)
        let statistics = fixture.session.statistics()
        #expect(statistics.expectedSentBytes == [.upload: 4096] && statistics.sentBytes == [.upload: 2048])
        mayGoOn.open()
        let result = await task.result()
        #expect(result.sentBytes == 4096 && result.volume == "4.0 KiB sent, 2 B received")
        #expect(task.info.progress.isSending == false)
        #expect(TaskDocument(task.info).sending == false)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("After a redirect that takes the body away nothing is sent any more")
    func redirected() async throws {
        let server = try LiveServer { request in
            request.path == "/" ? .respond(303, ["Location: /next"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(
            try TaskRequest(url: server.url(), method: "POST", body: .data(LiveServerAnswer.bytes(count: 20_000))))
        _ = await task.result()
        #expect(task.info.progress.expectedSent == nil)
        #expect(Self.progress(of: task, fixture).last?.isSending == false)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Without a length there is no fraction, bytes grow all the same, and a last progress comes")
    func unknownLength() async throws {
        let chunks = (0..<20).map { _ in String(repeating: "t", count: 5_000) }
        let server = try LiveServer { _ in .chunked(chunks) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        _ = await task.result()
        let all = Self.progress(of: task, fixture)
        #expect(all.allSatisfy { $0.fraction == nil && $0.expected == nil })
        #expect(all.last?.received == 100_000)
        #expect(task.download.total == nil)
        #expect(task.download.fraction == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // 100,000 times the letter t, compressed by gzip -9.
    private static let gzip: [UInt8] = GzipSample.bytes

    @Test("Of a compressed body the fraction counts what the wire carries, and both lengths are told")
    func compressed() async throws {
        let server = try LiveServer { _ in .respond(200, ["Content-Encoding: gzip"], body: Self.gzip) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.options.acceptsCompression = true
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        #expect(task.body() == [UInt8](repeating: UInt8(ascii: "t"), count: 100_000))
        #expect(task.currentProgress.receivedWire == Int64(Self.gzip.count))
        #expect(task.currentProgress.received == 100_000)
        #expect(task.currentProgress.fraction == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A resumed download never shows a fraction below its offset's")
    func resumed() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.rangeStart == nil else {
                return .pattern(400_000, for: request, slice: 50_000, pauseMilliseconds: 40)
            }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 200_000), .reset])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        let second = Self.progress(of: task, fixture).filter { $0.attempt == 2 }.compactMap(\.fraction)
        #expect(!second.isEmpty)
        #expect(second.allSatisfy { $0 > 0 && $0 <= 1 })
        #expect(second == second.sorted())
        #expect(second.last == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A replayed upload starts at 0 again, in another attempt")
    func replayed() async throws {
        let server = try LiveServer { request in
            request.path == "/" ? .respond(307, ["Location: /again"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(
            try TaskRequest(url: server.url(), method: "POST", body: .data(LiveServerAnswer.bytes(count: 50_000))))
        #expect(await task.result().outcome == .success)
        let all = Self.progress(of: task, fixture)
        #expect(all.allSatisfy { $0.sent <= 50_000 })
        #expect(all.last?.attempt == 2)
        #expect(all.last?.sent == 50_000)
        #expect(server.requests.map(\.body.count) == [50_000, 50_000])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Cancelling, pausing and resuming a progress does that to its task")
    func bound() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        let (down, up) = (task.download, task.upload)
        #expect(await fixture.wait { server.requests.count == 1 })
        down.pause()
        down.pause()
        #expect(await fixture.wait { task.state == .suspended })
        up.resume()
        #expect(await fixture.wait { task.state.name == .running })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        // What the task's user did is not a progress's to take back.
        down.resume()
        try await Task.sleep(for: .milliseconds(20))
        #expect(task.state == .suspended)
        task.resume()
        #expect(await fixture.wait { task.state.name == .running })
        up.cancel()
        #expect(await task.result().outcome == .cancelled)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Progress comes as a stream that begins with the present and ends with the task, its last value being whole")
    func sequence() async throws {
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.session.makeTask(try TaskRequest(url: server.url()))
        var values = task.progress.makeAsyncIterator()
        // Nothing has changed yet: the present comes by itself.
        #expect(await values.next() == TransferProgress())
        task.resume()
        var last: TransferProgress?
        while let progress = await values.next() { last = progress }
        #expect(last?.fraction == 1 && last == task.currentProgress)
        var late: [TransferProgress] = []
        for await progress in task.progress { late.append(progress) }
        #expect(late == [task.currentProgress])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An empty body of known length is there at once, and a length of nothing is no unknown length")
    func empty() async throws {
        let server = try LiveServer { _ in .respond(text: "") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        _ = await task.result()
        #expect(task.download.total == 0)
        #expect(task.download.fraction == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

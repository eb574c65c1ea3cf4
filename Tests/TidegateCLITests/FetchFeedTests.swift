import Synchronization
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateCLI

@Suite(.timeLimit(.minutes(5)))
struct FetchFeedTests {
    private func item(_ url: String) throws -> FetchPlan.Item {
        var request = try TaskRequest(url: url)
        request.destination = .discard
        return FetchPlan.Item(request: request)
    }

    @Test("Of a long list only so many are under way, each ends once, and the list is read no further than needed")
    func bounded() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: request.path).steps)
        }
        defer { server.stop() }
        let monitor = try Monitor()
        let (ends, continuation) = AsyncStream.makeStream(of: FetchFeed.Ended.self)
        let feed = FetchFeed(monitor.session, limit: 5, ends: continuation) { _ in true }
        let reported = Mutex<[String]>([])
        let added = Atomic<Int>(0)
        async let reading: Void = {
            for number in 0..<600 {
                await feed.add(try self.item(server.url("/\(number)")))
                added.add(1, ordering: .relaxed)
            }
            await feed.finish()
        }()
        async let reporting: Void = {
            for await end in ends {
                reported.withLock { $0.append(end.result.url) }
                feed.reported()
            }
        }()
        // The look-ahead is full, and nothing has ended yet.
        #expect(await eventually { server.requests.count >= 1 && feed.transfers.count == 5 })
        #expect(added.load(ordering: .relaxed) < 300)
        #expect(feed.transfers.map(\.position) == Array(1...5))
        latch.open()
        _ = try await (reading, reporting)
        #expect(feed.tally.count == 600 && feed.tally.error == nil)
        #expect(Set(reported.withLock { $0 }).count == 600)
        #expect(feed.transfers.isEmpty)
        await monitor.stop()
    }

    @Test("A feed that is stopped starts nothing more, and ends with what was under way")
    func stopped() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let monitor = try Monitor()
        let (ends, continuation) = AsyncStream.makeStream(of: FetchFeed.Ended.self)
        let feed = FetchFeed(monitor.session, limit: 2, ends: continuation) { _ in false }
        for number in 0..<10 { await feed.add(try self.item(server.url("/\(number)"))) }
        #expect(await eventually { server.requests.count == 2 })
        let tasks = feed.stop()
        #expect(tasks.count == 2)
        for task in tasks { task.cancelKeepingPart() }
        await feed.finish()
        for await _ in ends { Issue.record("nothing is told") }
        #expect(feed.tally.count == 2 && feed.tally.failed == 2)
        #expect(server.requests.count == 2)
        await monitor.stop()
    }

    @Test("A body for a terminal passes unless a NUL is among its first 2000 bytes")
    func terminalBody() async throws {
        func end(_ body: [UInt8]) async throws -> (TerminalBody.End, [UInt8], TaskResult) {
            let server = try LiveServer { _ in .respond(body: body) }
            defer { server.stop() }
            let monitor = try Monitor()
            let stream = BodyStream()
            var request = try TaskRequest(url: server.url())
            request.destination = .stream(stream)
            let task = monitor.session.makeTask(request)
            task.resume()
            let written = Mutex<[UInt8]>([])
            let end = await TerminalBody.copy(stream) { bytes in
                written.withLock { $0 += bytes }
                return nil
            }
            let result = await task.result()
            await monitor.stop()
            return (end, written.withLock { $0 }, result)
        }
        let text = Array("tide\n".utf8)
        for whole in [text, [UInt8](repeating: 0x78, count: 2000) + [0]] {
            let (end, written, result) = try await end(whole)
            #expect(end == .written && written == whole)
            #expect(result.outcome == .success, "\(result)")
        }
        let binary = [UInt8](repeating: 0x78, count: 1999) + [0] + [UInt8](repeating: 1, count: 4_000_000)
        let refused = try await end(binary)
        #expect(refused.0 == .binary && refused.1.isEmpty)
        #expect(refused.2.outcome == .cancelled, "\(refused.2)")
    }
}

@Suite struct FetchQueueTests {
    private func items(_ count: Int) throws -> [FetchPlan.Item] {
        try (0..<count).map { FetchPlan.Item(request: try TaskRequest(url: "http://a/\($0)")) }
    }

    @Test("So many start at once, the list is read ahead so far, and a slow report holds further ones back")
    func bounds() throws {
        var queue = FetchQueue(limit: 3)
        let done = Samples.result(.success)
        for item in try self.items(700) { queue.add(item) }
        var started = 0
        while queue.next() != nil { started += 1 }
        #expect(started == 3 && queue.isFull && !queue.needsMore)
        for _ in 0..<FetchQueue.unreportedLimit {
            queue.ended(done, isReported: true)
            if queue.next() != nil { started += 1 }
        }
        #expect(started == 3 + FetchQueue.unreportedLimit - 1, "the last end waits for a report")
        queue.reported()
        #expect(queue.next()?.request.url == "http://a/\(started)")
        #expect(!queue.isOver && queue.tally.count == FetchQueue.unreportedLimit)
        queue.stop()
        #expect(queue.next() == nil && queue.needsMore && !queue.isFull)
    }

    @Test("It is over when all has ended and was reported, and not while the list may go on")
    func end() throws {
        var queue = FetchQueue(limit: 3)
        #expect(!queue.isOver)
        queue.add(try self.items(1)[0])
        queue.complete()
        #expect(queue.next() != nil && !queue.isOver)
        queue.ended(Samples.result(.success), isReported: true)
        #expect(!queue.isOver)
        queue.reported()
        #expect(queue.isOver)
    }
}

@Suite struct FetchContinuationTests {
    @Test(
        "The command to continue with is the one that was given, ready to paste",
        arguments: [
            (["fetch", "-O", "http://a/x"], "tidegate fetch --continue -O http://a/x"),
            (["fetch", "--continue", "-O", "http://a/x"], "tidegate fetch --continue -O http://a/x"),
            (
                ["fetch", "http://a/x?a=1&b=2", "-o", "it's here"],
                #"tidegate fetch --continue 'http://a/x?a=1&b=2' -o 'it'\''s here'"#
            ),
            (["fetch", "--input-file", "urls", "-O"], "tidegate fetch --continue --input-file urls -O"),
        ] as [([String], String)])
    func command(_ arguments: [String], _ command: String) {
        #expect(FetchContinuation.command(arguments) == command)
    }

    @Test(
        "Secrets are not repeated, and what came from standard input cannot be read again",
        arguments: [
            ["fetch", "-u", "me:secret", "-O", "http://a/x"], ["fetch", "-ume:secret", "-O", "http://a/x"],
            ["fetch", "--user=me:secret", "-O", "http://a/x"], ["fetch", "-H", "Authorization: x", "-O", "http://a/x"],
            ["fetch", "-O", "http://me:secret@a/x"], ["fetch", "--input-file", "-", "-O"],
        ])
    func none(_ arguments: [String]) {
        #expect(FetchContinuation.command(arguments) == nil)
    }
}

import Testing
import TidegateCore
import TidegateHTTP
import TidegateSession
import TidegateSessionTestKit

/// Several tasks waited for and followed as one.
@Suite(.timeLimit(.minutes(5)))
struct TransferGroupTests {
    @Test("A group gives the results of all its tasks, of late ones too, and leaves the session open")
    func results() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            let answer = LiveServerAnswer.respond(request.path == "/bad" ? 404 : 200, [], text: request.path)
            return request.path == "/slow" ? LiveServerAnswer([.waitFor(latch)] + answer.steps) : answer
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        func task(_ path: String) throws -> TransferTask {
            fixture.session.makeTask(try TaskRequest(url: server.url(path)))
        }
        let (slow, bad, late) = (try task("/slow"), try task("/bad"), try task("/late"))
        let group = TransferGroup([slow, bad])
        group.add(bad)
        group.resume()
        let waiting = Task { await group.results() }
        _ = await bad.result()
        group.add(late)
        late.resume()
        _ = await late.result()
        latch.open()
        let results = await waiting.value
        #expect(results.map(\.id) == [slow.id, bad.id, late.id])
        #expect(results.map(\.status) == [200, 404, 200])
        #expect(await TransferGroup().results().isEmpty)
        let next = try task("/next")
        next.resume()
        #expect(await next.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The progress of a group is the sum of its tasks', unknown while one length is, and ends whole")
    func progress() async throws {
        let (first, second) = (Latch(), Latch())
        let server = try LiveServer { request in
            switch request.path {
            case "/known":
                LiveServerAnswer([
                    .send(LiveServerAnswer.head(200, ["Content-Length: 4000"])), .pattern(from: 0, count: 1000),
                    .waitFor(second), .pattern(from: 1000, count: 3000),
                ])
            default:
                LiveServerAnswer([
                    .send(LiveServerAnswer.head(200, ["Connection: close"])), .pattern(from: 0, count: 500),
                    .waitFor(first), .pattern(from: 500, count: 500), .close,
                ])
            }
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let tasks = try ["/known", "/unknown"].map { fixture.session.makeTask(try TaskRequest(url: server.url($0))) }
        let group = TransferGroup(tasks)
        #expect(group.currentProgress.fraction == nil && group.currentProgress.ended == 0)
        let reading = Task {
            var seen: [GroupProgress] = []
            for await progress in group.progress { seen.append(progress) }
            return seen
        }
        group.resume()
        #expect(await fixture.wait { group.currentProgress.received == 1500 })
        #expect(group.currentProgress.fraction == nil)
        first.open()
        #expect(await fixture.wait { group.currentProgress.ended == 1 })
        // Of the one that is over, all is here.
        #expect(group.currentProgress.expected == 5000)
        #expect(group.currentProgress.fraction == 0.4)
        second.open()
        let seen = await reading.value
        #expect(seen.last?.received == 5000 && seen.last?.ended == 2 && seen.last?.fraction == 1)
        #expect(seen.map(\.received) == seen.map(\.received).sorted())
        #expect(seen.allSatisfy { $0.tasks == 2 })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Lengths too large for any server are handled")
    func absurdLengths() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 9223372036854775807"])),
                .pattern(from: 0, count: 10),
                .hang,
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let group = TransferGroup(
            try (0..<2).map { number in
                var request = try TaskRequest(url: server.url("/\(number)"))
                request.destination = .discard
                return fixture.session.makeTask(request)
            })
        group.resume()
        #expect(await fixture.wait { group.tasks.allSatisfy { $0.currentProgress.expected != nil } })
        #expect(group.currentProgress.expected == .max)
        group.cancel()
        _ = await group.results()
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A group suspends and cancels all of its tasks")
    func control() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let group = TransferGroup(
            try (0..<3).map { fixture.session.makeTask(try TaskRequest(url: server.url("/\($0)"))) })
        group.resume()
        #expect(await fixture.wait { server.requests.count == 3 })
        group.suspend()
        #expect(await fixture.wait { group.tasks.allSatisfy { $0.state == .suspended } })
        group.cancel()
        #expect(await group.results().map(\.outcome) == [.cancelled, .cancelled, .cancelled])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

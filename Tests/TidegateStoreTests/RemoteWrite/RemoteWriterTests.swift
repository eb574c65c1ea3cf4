internal import HTTPTypes
import Foundation
import GRDB
import Synchronization
import Testing
import TidegateMetrics
import TidegateCore
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

/// The writer with a real disk and a real network.
@Suite(.timeLimit(.minutes(5)))
struct RemoteWriterTests {
    @Test("A request is what remote write 1.0 requires")
    func request() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let tenant = try HTTPField("X-Scope-OrgID", "site-4")
        let fixture = try RemoteWriteFixture(server.url("/api/v1/write?tenant=a")) { configuration in
            configuration.userAgent = "tidegate/1.2.3"
            configuration.secrets = {
                .success(
                    .init(
                        headers: [tenant],
                        credentials: Credentials(user: "u", password: "p")))
            }
        }
        #expect(await eventually { server.requests.count > 2 })
        await fixture.writer.stop()
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/api/v1/write?tenant=a")
        let expected = [
            "content-encoding": "snappy", "content-type": "application/x-protobuf",
            "x-prometheus-remote-write-version": "0.1.0", "user-agent": "tidegate/1.2.3", "x-scope-orgid": "site-4",
            "authorization": "Basic dTpw", "content-length": String(request.body.count),
        ]
        for (name, value) in expected { #expect(request.field(name) == value, "\(name)") }
        #expect(try ReceivedSeries.all(inBody: request.body).map(\.key) == ["turn{job=\"test\"}"])
    }

    @Test("Every sample arrives once and in order, and the queue keeps nothing that was delivered")
    func order() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url())
        #expect(await eventually { server.requests.count >= 8 })
        await fixture.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        // What is left was not delivered, except for the batch that was being sent when the writer stopped.
        let left = try fixture.stored().map { Int($0.sequence) }
        #expect(left.allSatisfy { $0 >= turns.count })
        #expect(Set(turns).union(left) == Set(1...fixture.turns.collected))
    }

    @Test("A receiver that was down gets every sample afterwards, once and the oldest first")
    func outage() async throws {
        let port = try UInt16(FreePort.find())
        let fixture = try RemoteWriteFixture("http://127.0.0.1:\(port)/write")
        #expect(await eventually { fixture.turns.collected >= 10 && fixture.hasFailed(.connectFailed) })
        let server = try LiveServer(port: port) { _ in .respond(204) }
        defer { server.stop() }
        #expect(await eventually { fixture.delivered >= 12 })
        await fixture.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        let news = fixture.events.filter { if case .failed(_, isNews: true) = $0 { true } else { false } }
        #expect(news.count == 1)
    }

    @Test("Without a path nothing is attempted, and everything is sent when the path is back")
    func noPath() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url(), paths: ScriptedPathSource.lost())
        #expect(await eventually { fixture.turns.collected >= 5 })
        #expect(server.requests.isEmpty)
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await eventually { fixture.delivered >= 5 })
        await fixture.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        #expect(!fixture.events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test(
        "5xx, 429 and redirects are retried until the request succeeds, and newer samples do not overtake it",
        arguments: [500, 503, 429, 302])
    func retried(_ status: Int) async throws {
        let server = try LiveServer { request in
            request.number <= 3 ? .respond(status, ["Location: /elsewhere"]) : .respond(204)
        }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url("/write"))
        #expect(await eventually { fixture.delivered >= 4 })
        await fixture.writer.stop()
        #expect(try server.turns().prefix(6) == [1, 1, 1, 1, 2, 3])
        #expect(server.requests.allSatisfy { $0.path == "/write" && $0.method == "POST" })
        #expect(fixture.hasFailed(.httpStatus, status: status))
        #expect(fixture.lost(.refused) == 0)
    }

    @Test("A Retry-After is respected", arguments: [429, 503])
    func retryAfter(_ status: Int) async throws {
        let moments = Mutex<[ContinuousClock.Instant]>([])
        let server = try LiveServer { request in
            moments.withLock { $0.append(.now) }
            return request.number == 1 ? .respond(status, ["Retry-After: 1"]) : .respond(204)
        }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url())
        #expect(await eventually { fixture.delivered >= 2 })
        await fixture.writer.stop()
        let seen = moments.withLock { $0 }
        #expect(seen.count >= 2 && seen[1] - seen[0] >= .milliseconds(950))
        #expect(try server.turns().prefix(3) == [1, 1, 2])
    }

    @Test("Other 4xx are never retried: the batch is lost, counted and reported", arguments: [400, 401, 404, 413])
    func refused(_ status: Int) async throws {
        let server = try LiveServer { $0.number == 2 ? .respond(status) : .respond(204) }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url())
        #expect(await eventually { fixture.delivered >= 4 })
        await fixture.writer.stop()
        #expect(try server.turns().prefix(4) == [1, 2, 3, 4])
        #expect(fixture.lost(.refused) == 1)
        let details = fixture.events.compactMap { event -> String? in
            if case .dropped(.refused, samples: 1, let detail, pending: _, isNews: true) = event { detail } else { nil }
        }
        #expect(details == ["status \(status)"])
    }

    @Test("A full queue drops the oldest batches, counts them, and keeps its bound")
    func bound() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(204).steps) }
        defer { server.stop() }
        let fixture = try RemoteWriteFixture(server.url()) {
            $0.bound = 4096 * 5
            $0.interval = .milliseconds(10)
        }
        #expect(await eventually { fixture.lost(.bufferFull) >= 10 })
        #expect(try (5...6).contains(fixture.stored().count))
        let lost = fixture.lost(.bufferFull)
        latch.open()
        #expect(await eventually { fixture.delivered >= 6 })
        await fixture.writer.stop()
        let turns = try server.turns()
        // The first was being sent; of the others the oldest were dropped, and no newer one.
        #expect(turns.first == 1)
        #expect(turns.dropFirst().first.map { $0 > lost } == true)
        #expect(turns == turns.sorted())
        #expect(Set(turns).count == turns.count)
    }

    @Test("What is left after a stop is sent by the next process before anything newer")
    func restart() async throws {
        let turns = RemoteWriteFixture.Turns()
        let first = try RemoteWriteFixture("http://127.0.0.1:9/write", turns: turns, paths: ScriptedPathSource.lost())
        #expect(await eventually { turns.collected >= 4 })
        await first.writer.stop()
        let left = try first.stored().count
        #expect(left == turns.collected)
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let second = try RemoteWriteFixture(server.url(), directory: first.directory, turns: turns)
        #expect(await eventually { second.delivered > left + 2 })
        await second.writer.stop()
        let arrived = try server.turns()
        #expect(arrived == Array(1...arrived.count))
        guard case .opened(samples: left, pending: Int64(left) * 4096) = second.events.first else {
            Issue.record("\(String(describing: second.events.first))")
            return
        }
    }

    @Test("A damaged batch is reported by its number, and the others are sent")
    func damaged() async throws {
        let turns = RemoteWriteFixture.Turns()
        let first = try RemoteWriteFixture("http://127.0.0.1:9/write", turns: turns, paths: ScriptedPathSource.lost())
        #expect(await eventually { turns.collected >= 4 })
        await first.writer.stop()
        let queue = try DatabaseQueue(path: first.directory.queueFile)
        try await queue.write { try $0.execute(sql: "UPDATE batch SET body = x'2a' WHERE sequence = 2") }
        try queue.close()
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let second = try RemoteWriteFixture(server.url(), directory: first.directory, turns: turns)
        #expect(await eventually { second.delivered >= 5 })
        await second.writer.stop()
        #expect(try server.turns().prefix(3) == [1, 3, 4])
        let details = second.events.compactMap { event -> String? in
            if case .dropped(.damaged, samples: 1, let name, pending: _, isNews: true) = event { name } else { nil }
        }
        #expect(details == ["batch 2"])
        #expect(try !second.stored().contains { $0.sequence == 2 })
    }

    @Test("Without a disk, samples are sent at once")
    func noDisk() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let directory = try TestDirectory()
        #expect(FileManager.default.createFile(atPath: directory.queue, contents: nil))
        let fixture = try RemoteWriteFixture(server.url(), directory: directory)
        #expect(await eventually { fixture.delivered >= 3 })
        await fixture.writer.stop()
        let turns = try server.turns()
        #expect(turns.first == 1)
        #expect(turns == turns.sorted())
        // What was collected during another request is lost and counted, except for the batch that the stop interrupted.
        #expect((fixture.turns.collected - 1...fixture.turns.collected).contains(turns.count + fixture.lost(.disk)))
    }

    @Test("A secret that cannot be read is reported, and the samples wait")
    func secret() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let secret = SecretFile()
        let fixture = try RemoteWriteFixture(server.url()) {
            $0.secrets = {
                guard secret.exists else {
                    return .failure(TaskError(reason: .fileError, underlying: "/token: cannot be read"))
                }
                return .success(.init(headers: [HTTPField(name: .authorization, value: "Bearer x")]))
            }
        }
        #expect(await eventually { fixture.hasFailed(.fileError) && fixture.turns.collected > 3 })
        #expect(server.requests.isEmpty)
        secret.create()
        #expect(await eventually { fixture.delivered >= 3 })
        await fixture.writer.stop()
        #expect(try server.turns().prefix(3) == [1, 2, 3])
        #expect(server.requests.first?.field("authorization") == "Bearer x")
    }

    private final class SecretFile: Sendable {
        private let flag = Atomic<Bool>(false)

        var exists: Bool { self.flag.load(ordering: .relaxed) }
        func create() { self.flag.store(true, ordering: .relaxed) }
    }

    @Test("A URL that is not HTTP is refused before anything starts")
    func badURL() throws {
        #expect(throws: TaskError.self) { _ = try RemoteWriteFixture("ftp://example.com/") }
    }
}

internal import HTTPTypes
import Foundation
import Synchronization
import Testing
import TidegateMetrics
import TidegateCore
import TidegateSession
import TidegateTestKit

@testable import TidegateStore

/// The writer between a disk and a wire that are real.
@Suite(.timeLimit(.minutes(5)))
struct RemoteWriterTests {
    @Test("A request is what remote write 1.0 asks for")
    func request() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let tenant = try HTTPField("X-Scope-OrgID", "site-4")
        let rig = try Rig(server.url("/api/v1/write?tenant=a")) { configuration in
            configuration.userAgent = "tidegate/1.2.3"
            configuration.secrets = {
                .success(
                    .init(
                        headers: [tenant],
                        credentials: Credentials(user: "u", password: "p")))
            }
        }
        #expect(await eventually { server.requests.count > 2 })
        await rig.writer.stop()
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/api/v1/write?tenant=a")
        let expected = [
            "content-encoding": "snappy", "content-type": "application/x-protobuf",
            "x-prometheus-remote-write-version": "0.1.0", "user-agent": "tidegate/1.2.3", "x-scope-orgid": "site-4",
            "authorization": "Basic dTpw", "content-length": String(request.body.count),
        ]
        for (name, value) in expected { #expect(request.field(name) == value, "\(name)") }
        #expect(try Received.all(inBody: request.body).map(\.key) == ["turn{job=\"test\"}"])
    }

    @Test("Everything arrives once and in order, and what was delivered leaves nothing on the disk")
    func order() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let rig = try Rig(server.url())
        #expect(await eventually { server.requests.count >= 8 })
        await rig.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        // What is left was not delivered, but for the one that was on its way when the writer stopped.
        let left = try SegmentFolder(rig.place.path + "/buffer").open().map { Int($0.sequence) }
        #expect(left.allSatisfy { $0 >= turns.count })
        #expect(Set(turns).union(left) == Set(1...rig.turns.taken))
    }

    @Test("A receiver that is away gets everything afterwards, once and the oldest first")
    func outage() async throws {
        let port: UInt16
        do {
            let server = try LiveServer { _ in .respond(204) }
            port = server.port
            server.stop()
        }
        let rig = try Rig("http://127.0.0.1:\(port)/write")
        #expect(await eventually { rig.turns.taken >= 10 && rig.hasFailed(.connectFailed) })
        let server = try LiveServer(port: port) { _ in .respond(204) }
        defer { server.stop() }
        #expect(await eventually { rig.delivered >= 12 })
        await rig.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        let loud = rig.events.filter { if case .failed(_, isNews: true) = $0 { true } else { false } }
        #expect(loud.count == 1)
    }

    @Test("While there is no path nothing is tried, and everything is sent when it is back")
    func noPath() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let rig = try Rig(server.url(), paths: ScriptedPathSource.lost())
        #expect(await eventually { rig.turns.taken >= 5 })
        #expect(server.requests.isEmpty)
        rig.paths.say(ScriptedPathSource.routed())
        #expect(await eventually { rig.delivered >= 5 })
        await rig.writer.stop()
        let turns = try server.turns()
        #expect(turns == Array(1...turns.count))
        #expect(!rig.events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test(
        "5xx, 429 and redirects are tried again until they pass, and nothing overtakes",
        arguments: [500, 503, 429, 302])
    func retried(_ status: Int) async throws {
        let server = try LiveServer { request in
            request.number <= 3 ? .respond(status, ["Location: /elsewhere"]) : .respond(204)
        }
        defer { server.stop() }
        let rig = try Rig(server.url("/write"))
        #expect(await eventually { rig.delivered >= 4 })
        await rig.writer.stop()
        #expect(try server.turns().prefix(6) == [1, 1, 1, 1, 2, 3])
        #expect(server.requests.allSatisfy { $0.path == "/write" && $0.method == "POST" })
        #expect(rig.hasFailed(.httpStatus, status: status))
        #expect(rig.lost(.refused) == 0)
    }

    @Test("Retry-After is waited for", arguments: [429, 503])
    func retryAfter(_ status: Int) async throws {
        let moments = Mutex<[ContinuousClock.Instant]>([])
        let server = try LiveServer { request in
            moments.withLock { $0.append(.now) }
            return request.number == 1 ? .respond(status, ["Retry-After: 1"]) : .respond(204)
        }
        defer { server.stop() }
        let rig = try Rig(server.url())
        #expect(await eventually { rig.delivered >= 2 })
        await rig.writer.stop()
        let seen = moments.withLock { $0 }
        #expect(seen.count >= 2 && seen[1] - seen[0] >= .milliseconds(950))
        #expect(try server.turns().prefix(3) == [1, 1, 2])
    }

    @Test("Other 4xx are never tried again: the batch is lost, counted and told", arguments: [400, 401, 404, 413])
    func refused(_ status: Int) async throws {
        let server = try LiveServer { $0.number == 2 ? .respond(status) : .respond(204) }
        defer { server.stop() }
        let rig = try Rig(server.url())
        #expect(await eventually { rig.delivered >= 4 })
        await rig.writer.stop()
        #expect(try server.turns().prefix(4) == [1, 2, 3, 4])
        #expect(rig.lost(.refused) == 1)
        let told = rig.events.compactMap { event -> String? in
            if case .dropped(.refused, samples: 1, let detail, pending: _, isNews: true) = event { detail } else { nil }
        }
        #expect(told == ["status \(status)"])
    }

    @Test("A buffer that is full loses the oldest, counts them, and keeps its bound")
    func bound() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(204).steps) }
        defer { server.stop() }
        let rig = try Rig(server.url()) {
            $0.bound = 4096 * 5
            $0.interval = .milliseconds(10)
        }
        #expect(await eventually { rig.lost(.bufferFull) >= 10 })
        let files = try FileManager.default.contentsOfDirectory(atPath: rig.place.path + "/buffer")
        #expect((5...6).contains(files.count))
        let lost = rig.lost(.bufferFull)
        latch.open()
        #expect(await eventually { rig.delivered >= 6 })
        await rig.writer.stop()
        let turns = try server.turns()
        // The first was on its way; the oldest of the others are gone, and no newer one.
        #expect(turns.first == 1)
        #expect(turns.dropFirst().first.map { $0 > lost } == true)
        #expect(turns == turns.sorted())
        #expect(Set(turns).count == turns.count)
    }

    @Test("What a stop leaves is sent by the next process before anything newer")
    func restart() async throws {
        let turns = Rig.Turns()
        let first = try Rig("http://127.0.0.1:9/write", turns: turns, paths: ScriptedPathSource.lost())
        #expect(await eventually { turns.taken >= 4 })
        await first.writer.stop()
        let left = try SegmentFolder(first.place.path + "/buffer").open().count
        #expect(left == turns.taken)
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let second = try Rig(server.url(), place: first.place, turns: turns)
        #expect(await eventually { second.delivered > left + 2 })
        await second.writer.stop()
        let arrived = try server.turns()
        #expect(arrived == Array(1...arrived.count))
        guard case .opened(samples: left, pending: Int64(left) * 4096) = second.events.first else {
            Issue.record("\(String(describing: second.events.first))")
            return
        }
    }

    @Test("A damaged segment is told by its name, and the others are sent")
    func damaged() async throws {
        let turns = Rig.Turns()
        let first = try Rig("http://127.0.0.1:9/write", turns: turns, paths: ScriptedPathSource.lost())
        #expect(await eventually { turns.taken >= 4 })
        await first.writer.stop()
        let folder = first.place.path + "/buffer"
        let victim = try SegmentFolder(folder).open()[1]
        #expect(truncate("\(folder)/\(victim.fileName)", 20) == 0)
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let second = try Rig(server.url(), place: first.place, turns: turns)
        #expect(await eventually { second.delivered >= 5 })
        await second.writer.stop()
        #expect(try server.turns().prefix(3) == [1, 3, 4])
        let told = second.events.compactMap { event -> String? in
            if case .dropped(.damaged, samples: 1, let name, pending: _, isNews: true) = event { name } else { nil }
        }
        #expect(told == [victim.fileName])
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(victim.fileName)"))
    }

    @Test("Without a disk samples are sent at once")
    func noDisk() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let place = try Place()
        #expect(FileManager.default.createFile(atPath: place.path + "/buffer", contents: nil))
        let rig = try Rig(server.url(), place: place)
        #expect(await eventually { rig.delivered >= 3 })
        await rig.writer.stop()
        let turns = try server.turns()
        #expect(turns.first == 1)
        #expect(turns == turns.sorted())
        // What came while another one was on its way is lost, and counted: all but the one that the stop cut off.
        #expect((rig.turns.taken - 1...rig.turns.taken).contains(turns.count + rig.lost(.disk)))
    }

    @Test("A secret that cannot be read is told, and its samples wait")
    func secret() async throws {
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let box = Box()
        let rig = try Rig(server.url()) {
            $0.secrets = {
                guard box.isThere else {
                    return .failure(TaskError(reason: .fileError, underlying: "/token: cannot be read"))
                }
                return .success(.init(headers: [HTTPField(name: .authorization, value: "Bearer x")]))
            }
        }
        #expect(await eventually { rig.hasFailed(.fileError) && rig.turns.taken > 3 })
        #expect(server.requests.isEmpty)
        box.appear()
        #expect(await eventually { rig.delivered >= 3 })
        await rig.writer.stop()
        #expect(try server.turns().prefix(3) == [1, 2, 3])
        #expect(server.requests.first?.field("authorization") == "Bearer x")
    }

    private final class Box: Sendable {
        private let flag = Atomic<Bool>(false)

        var isThere: Bool { self.flag.load(ordering: .relaxed) }
        func appear() { self.flag.store(true, ordering: .relaxed) }
    }

    @Test("A URL that cannot be asked is refused before anything starts")
    func badURL() throws {
        #expect(throws: TaskError.self) { _ = try Rig("ftp://example.com/") }
    }
}

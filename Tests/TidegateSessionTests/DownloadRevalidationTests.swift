import Foundation
import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// Downloads keep the files that they made, as long as these and their servers' have not changed.
@Suite(.timeLimit(.minutes(5)))
struct DownloadRevalidationTests {
    @Test("A download keeps the file that it made; one that another changed, moved or removed comes again")
    func download() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        func run() async throws -> TaskResult {
            var request = try TaskRequest(url: origin.server.url())
            request.destination = .file(folder.file("f"))
            return await fixture.run(request).result()
        }
        #expect(try await run().isRevalidated == false)
        let before = try FileIdentity.of(FileLocation(folder.file("f")))
        let kept = try await run()
        #expect(kept.isRevalidated && kept.file == folder.file("f") && kept.bytes == 0 && kept.outcome == .success)
        #expect(try FileIdentity.of(FileLocation(folder.file("f"))) == before)
        #expect(folder.names == ["f", "store"])

        folder.write(Array("own".utf8), to: "f")
        #expect(try await run().isRevalidated == false)
        #expect(folder.bytes("f") == Array("one".utf8))
        folder.remove("f")
        #expect(try await run().isRevalidated == false)
        #expect(folder.bytes("f") == Array("one".utf8))
        #expect(try await run().isRevalidated)
        // Another place has nothing to keep, and a body in memory nothing of it.
        #expect(await fixture.body(try TaskRequest(url: origin.server.url())).0 == "one")
        #expect(origin.conditions == [nil, "\"1\"", nil, nil, "\"1\"", nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A file that is changed while its server is asked comes again")
    func race() async throws {
        let folder = try Scratch()
        let path = folder.file("f")
        let server = try LiveServer { request in
            guard request.field("if-none-match") != nil else { return .respond(200, ["ETag: \"1\""], text: "one") }
            try? Data("own".utf8).write(to: URL(fileURLWithPath: path))
            return LiveServerAnswer([.send(LiveServerAnswer.head(304, []))])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        for _ in 0..<2 {
            var request = try TaskRequest(url: server.url())
            request.destination = .file(path)
            let result = await fixture.run(request).result()
            #expect(result.outcome == .success && !result.isRevalidated)
            #expect(folder.bytes("f") == Array("one".utf8))
        }
        #expect(server.requests.count == 3)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download is resumed as ever: If-Range, and no other condition")
    func resume() async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            let whole = LiveServerAnswer.pattern(100_000, for: request)
            guard request.number == 1 else { return whole }
            return LiveServerAnswer([whole.steps[0], .pattern(from: 0, count: 60_000), .close])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        var request = try TaskRequest(url: server.url())
        request.destination = .file(folder.file("f"))
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(folder.hasPattern("f", 100_000))
        #expect(server.requests.map { $0.field("if-range") } == [nil, "\"tide\""])
        #expect(server.requests.allSatisfy { $0.field("if-none-match") == nil })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that has to have a digest is only taken from the store with that digest")
    func digest() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        var request = try TaskRequest(url: origin.server.url())
        _ = await fixture.body(request)
        request.options.sha256 = ContentDigest(of: Array("one".utf8))
        #expect(await fixture.body(request).1.isRevalidated)
        request.options.sha256 = ContentDigest(of: Array("two".utf8))
        #expect(await fixture.body(request).1.failure == .digestMismatch)
        #expect(origin.conditions == [nil, "\"1\"", nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

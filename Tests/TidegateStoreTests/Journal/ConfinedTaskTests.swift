import Foundation
import Testing
import TidegateCore
import TidegateStore
import TidegateTestKit

@testable import TidegateSession

/// Tasks whose files must stay below a directory, over attempts and restarts.
@Suite(.timeLimit(.minutes(5)))
struct ConfinedTaskTests {
    private let directory: TestDirectory
    private var allowed: String { self.directory.file("allowed") }

    init() throws {
        self.directory = try TestDirectory()
        try FileManager.default.createDirectory(
            atPath: self.directory.file("allowed/sub"), withIntermediateDirectories: true)
    }

    /// Moves the directory `allowed/sub` to `outside` and leaves a link: by its path every file is still the same.
    private func swapForLink() throws {
        try FileManager.default.moveItem(
            atPath: self.directory.file("allowed/sub"), toPath: self.directory.file("outside"))
        try FileManager.default.createSymbolicLink(
            atPath: self.directory.file("allowed/sub"), withDestinationPath: self.directory.file("outside"))
    }

    private func names(_ name: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.directory.file(name)).sorted()
    }

    private func download(_ server: LiveServer) throws -> TaskRequest {
        var request = try TaskRequest(url: server.url("/f"))
        request.destination = .file("\(self.allowed)/sub/f")
        request.options.confinedTo = [self.allowed]
        return request
    }

    @Test("A confined download arrives, and is read again after a restart")
    func arrives() async throws {
        let server = try LiveServer { .pattern(150_000, for: $0) }
        defer { server.stop() }
        let first = try JournalFixture(self.directory)
        let id = try await first.session.submit(try self.download(server)).id
        #expect(try await first.end(of: id)?.outcome == .success)
        #expect(self.directory.hasPattern("allowed/sub/f", 150_000))
        await first.stop()

        let second = try JournalFixture(self.directory)
        let file = try #require(try await second.session.downloadedFile(of: id))
        #expect(file.isConfined)
        let read = try file.open()
        var pieces: [[UInt8]] = []
        while let piece = try Optional(read()), !piece.isEmpty { pieces.append(piece) }
        #expect(pieces.map(\.count) == [65_536, 65_536, 18_928])
        #expect(pieces.flatMap(\.self) == LiveServerAnswer.bytes(count: 150_000))

        try FileManager.default.moveItem(
            atPath: self.directory.file("allowed/sub/f"), toPath: self.directory.file("f2"))
        #expect(throws: (any Error).self) { try file.open() }
        try Data("other".utf8).write(to: URL(fileURLWithPath: self.directory.file("allowed/sub/f")))
        let changed = #expect(throws: (any Error).self) { try file.open() }
        #expect(changed.map { "\($0)" } == "\(self.allowed)/sub/f changed after the task had written it")
        await second.stop()
    }

    @Test("A partial download stays confined after a restart")
    func resumed() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            request.rangeStart == nil
                ? LiveServerAnswer(
                    [.send(Array("HTTP/1.1 200 OK\r\nETag: \"tide\"\r\nContent-Length: 100000\r\n\r\n".utf8))]
                        + [.pattern(from: 0, count: 50_000), .waitFor(latch)])
                : .pattern(100_000, for: request)
        }
        defer { server.stop() }
        defer { latch.open() }
        let first = try JournalFixture(self.directory)
        let id = try await first.session.submit(try self.download(server)).id
        let isHeld = try await eventually { try await (first.entry(id)?.hold?.offset ?? 0) > 0 }
        #expect(isHeld)
        await first.stop()
        try self.swapForLink()

        let second = try JournalFixture(self.directory)
        try await second.session.restore()
        let end = try #require(try await second.end(of: id))
        #expect(end.outcome == .failure && end.failure == .fileError, "\(end)")
        #expect(try self.names("outside") == [".f.tidegate"])
        #expect(server.requests.count == 1)
        await second.stop()
    }

    @Test("A download whose directory becomes a link before its end is not moved there")
    func swappedBeforeTheEnd() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in LiveServerAnswer.respond(text: "new").after(latch) }
        defer { server.stop() }
        defer { latch.open() }
        let fixture = try JournalFixture(self.directory)
        let id = try await fixture.session.submit(try self.download(server)).id
        #expect(await eventually { server.requests.count == 1 })
        try self.swapForLink()
        latch.open()
        let end = try #require(try await fixture.end(of: id))
        #expect(end.failure == .fileError, "\(end)")
        #expect(try self.names("outside") == [".f.tidegate"])
        await fixture.stop()
    }

    @Test("A body is opened below its directory at each attempt")
    func upload() async throws {
        try Data("public".utf8).write(to: URL(fileURLWithPath: self.directory.file("allowed/sub/f")))
        let latch = Latch()
        let server = try LiveServer { _ in LiveServerAnswer.respond(503, text: "").after(latch) }
        defer { server.stop() }
        defer { latch.open() }
        var request = try TaskRequest(
            url: server.url(), method: "PUT", body: .file("\(self.allowed)/sub/f"))
        request.options.confinedTo = [self.allowed]
        request.options.retry = RetryPolicy(attempts: 5, base: .milliseconds(5), cap: .milliseconds(10))
        let fixture = try JournalFixture(self.directory)
        let id = try await fixture.session.submit(request).id
        #expect(await eventually { server.requests.count == 1 })
        try self.swapForLink()
        latch.open()
        let end = try #require(try await fixture.end(of: id))
        #expect(end.failure == .fileError, "\(end)")
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["public"])
        await fixture.stop()
    }

    @Test("A body in the journal is looked at below its directory after a restart")
    func uploadAfterRestart() async throws {
        try Data("public".utf8).write(to: URL(fileURLWithPath: self.directory.file("allowed/sub/f")))
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        var request = try TaskRequest(url: server.url(), method: "PUT", body: .file("\(self.allowed)/sub/f"))
        request.options.confinedTo = [self.allowed]
        let first = try JournalFixture(self.directory)
        let id = try await first.session.submit(request, isSuspended: true).id
        await first.stop()
        try self.swapForLink()
        let second = try JournalFixture(self.directory)
        try await second.session.restore()
        let end = try #require(try await second.end(of: id))
        #expect(end.explanation?.contains("\(self.allowed)/sub/f: stat: ") == true, "\(end)")
        #expect(server.requests.isEmpty)
        await second.stop()
    }

    @Test("A task without directories in its row, as earlier versions wrote it, may use any file")
    func earlierVersion() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        try self.swapForLink()
        var request = try self.download(server)
        request.options.confinedTo = nil
        let text = try JSONEncoder().encode(try TaskDescription(request, key: nil))
        #expect(!String(decoding: text, as: UTF8.self).contains("confinedTo"))
        #expect(try JSONDecoder().decode(TaskDescription.self, from: text).request().options.confinedTo == nil)
        let first = try JournalFixture(self.directory)
        let id = try await first.session.submit(request, isSuspended: true).id
        await first.stop()
        let second = try JournalFixture(self.directory)
        try await second.session.restore()
        #expect(try await second.session.resume(id))
        #expect(try await second.end(of: id)?.outcome == .success)
        #expect(self.directory.bytes("outside/f") == Array("/f".utf8))
        #expect(try await second.session.downloadedFile(of: id)?.isConfined == false)
        await second.stop()
    }

    @Test("What is kept of a task that is over says where its file may be")
    func redacted() throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let description = try TaskDescription(try self.download(server), key: nil)
        #expect(description.redacted.options.confinedTo == [self.allowed])
    }
}

internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Continuing a download")
struct ResumeTests {
    private static let total: Int64 = 200_017
    private static let held: Int64 = 70_001

    /// A server, and a temporary file with the first part of its body.
    private struct Scene {
        let server: LiveServer
        let folder: Folder
        let file: DownloadFile

        init(held: Int64 = ResumeTests.held, _ answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer)
            throws
        {
            self.server = try LiveServer(answer: answer)
            self.folder = try Folder()
            let paths = DownloadPaths(destination: self.folder.path("f"))
            self.folder.write(".f.tidegate", LiveServerAnswer.bytes(count: held))
            self.file = try DownloadFile.open(paths, keeping: held)
        }

        func run(_ point: ResumePoint) throws -> AttemptOutcome {
            var request = try AttemptRequest(1, self.server.url(), .file(self.file))
            request.resume = point
            defer { self.server.stop() }
            return try AttemptRecorder().run(request)
        }
    }

    private static let point = ResumePoint(offset: held, validator: .etag("\"tide\""), total: total)

    @Test("An unchanged body is continued where it ended, and no byte is fetched twice")
    func append() throws {
        let scene = try Scene { .pattern(ResumeTests.total, for: $0) }
        let outcome = try scene.run(ResumeTests.point)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.range == .append)
        #expect(outcome.progress.offset == ResumeTests.held)
        #expect(outcome.progress.receivedWire == ResumeTests.total - ResumeTests.held)
        #expect(outcome.progress.expected == ResumeTests.total)
        #expect(scene.folder.bytes(".f.tidegate") == LiveServerAnswer.bytes(count: ResumeTests.total))
        let request = try #require(scene.server.requests.first)
        #expect(request.field("range") == "bytes=\(ResumeTests.held)-")
        #expect(request.field("if-range") == "\"tide\"")
        #expect(request.field("accept-encoding") == "identity")
    }

    @Test("A changed body, or a server without ranges, gives the whole and replaces what was held")
    func changed() throws {
        let scene = try Scene { _ in .respond(200, ["ETag: \"new\""], text: "a new tide") }
        let outcome = try scene.run(ResumeTests.point)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.range == .restartFromZero)
        #expect(outcome.progress.offset == 0)
        #expect(scene.folder.bytes(".f.tidegate") == Array("a new tide".utf8))
    }

    @Test("A changed body that is empty empties the file")
    func changedToNothing() throws {
        let scene = try Scene { _ in .respond() }
        #expect(try scene.run(ResumeTests.point).failure == nil)
        #expect(try scene.file.size() == 0)
    }

    @Test(
        "A range that does not fit leaves the file as it was",
        arguments: [
            "Content-Range: bytes 0-9/10", "Content-Range: bytes 70001-200016/200017\r\nETag: \"new\"", "X: y",
        ])
    func mismatch(fields: String) throws {
        let scene = try Scene { _ in .respond(206, [fields], body: LiveServerAnswer.bytes(count: 130_016)) }
        let outcome = try scene.run(ResumeTests.point)
        #expect(outcome.failure == .rangeMismatch)
        #expect(scene.folder.bytes(".f.tidegate") == LiveServerAnswer.bytes(count: ResumeTests.held))
    }

    @Test("416 with the length that is held means that nothing is missing")
    func complete() throws {
        let scene = try Scene(held: ResumeTests.total) { .pattern(ResumeTests.total, for: $0) }
        let point = ResumePoint(offset: ResumeTests.total, validator: .etag("\"tide\""))
        let outcome = try scene.run(point)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.status == 416)
        #expect(outcome.head?.range == .alreadyComplete)
        #expect(try scene.file.size() == ResumeTests.total)
    }

    @Test("416 proves that nothing is missing even if its own body ends with the connection")
    func completeAndClosed() throws {
        let scene = try Scene(held: ResumeTests.total) { _ in
            let fields = ["Content-Range: bytes */\(ResumeTests.total)"]
            return LiveServerAnswer([.send(LiveServerAnswer.head(416, fields) + Array("sorry".utf8)), .close])
        }
        let outcome = try scene.run(ResumePoint(offset: ResumeTests.total, validator: .etag("\"tide\"")))
        #expect(outcome.failure == nil)
        #expect(outcome.isLengthVerified)
    }

    @Test(
        "A part whose server does not know the whole proves no end; a length known before does",
        arguments: [true, false])
    func partOfUnknown(isKnown: Bool) throws {
        let scene = try Scene { _ in
            let rest = ResumeTests.total - ResumeTests.held
            let fields = ["Content-Range: bytes \(ResumeTests.held)-\(ResumeTests.total - 1)/*"]
            return .respond(206, fields, body: LiveServerAnswer.bytes(from: ResumeTests.held, count: rest))
        }
        var point = ResumeTests.point
        if !isKnown { point.total = nil }
        let outcome = try scene.run(point)
        #expect(outcome.failure == nil)
        #expect(outcome.isLengthVerified == isKnown)
        #expect(scene.folder.bytes(".f.tidegate") == LiveServerAnswer.bytes(count: ResumeTests.total))
    }

    @Test("A continuation longer than any file is a cut one, not a crash")
    func longestLength() throws {
        let scene = try Scene { _ in
            let last = Int64.max - 1
            let fields = ["Content-Range: bytes \(ResumeTests.held)-\(last)/*", "Content-Length: \(Int64.max)"]
            return LiveServerAnswer([.send(LiveServerAnswer.head(206, fields) + Array("rest".utf8)), .close])
        }
        var point = ResumeTests.point
        point.total = nil
        #expect(try scene.run(point).failure != nil)
    }

    @Test(
        "Statuses that decide something else leave the file alone",
        arguments: [
            (404, TaskFailure.httpStatus), (412, .rangeMismatch), (416, .rangeMismatch), (503, .httpStatus),
        ])
    func statuses(status: Int, failure: TaskFailure) throws {
        let scene = try Scene { _ in .respond(status, text: "sorry") }
        let outcome = try scene.run(ResumeTests.point)
        #expect(outcome.failure == failure)
        #expect(try scene.file.size() == ResumeTests.held)
    }

    @Test("A continuation that breaks off again keeps what came")
    func brokenAgain() throws {
        let scene = try Scene { request in
            let whole = LiveServerAnswer.pattern(ResumeTests.total, for: request)
            return LiveServerAnswer([whole.steps[0], .pattern(from: ResumeTests.held, count: 1000), .close])
        }
        let outcome = try scene.run(ResumeTests.point)
        #expect(outcome.failure == .truncated)
        #expect(outcome.progress.offset + outcome.progress.received == ResumeTests.held + 1000)
        #expect(scene.folder.bytes(".f.tidegate") == LiveServerAnswer.bytes(count: ResumeTests.held + 1000))
    }
}

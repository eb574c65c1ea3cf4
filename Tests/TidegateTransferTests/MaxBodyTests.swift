internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("A body larger than the limit", .timeLimit(.minutes(5)))
struct MaxBodyTests {
    private static func run(
        _ answer: LiveServerAnswer, limit: Int64, resume: ResumePoint? = nil, compressed: Bool = false
    ) throws -> (outcome: AttemptOutcome, file: [UInt8]?) {
        let server = try LiveServer { _ in answer }
        defer { server.stop() }
        let folder = try Folder()
        folder.write(".f.tidegate", LiveServerAnswer.bytes(count: resume?.offset ?? 0))
        let file = try DownloadFile.open(DownloadPaths(destination: folder.path("f")), keeping: resume?.offset ?? 0)
        var request = try AttemptRequest(1, server.url(), .file(file))
        request.maxBodyBytes = limit
        request.resume = resume
        request.acceptsCompression = compressed
        return (try AttemptRecorder().run(request), folder.bytes(".f.tidegate"))
    }

    private static func chunked(_ count: Int) -> LiveServerAnswer {
        .chunked([String(repeating: "x", count: count), String(repeating: "y", count: count)])
    }

    @Test("is refused before its first byte if its length is announced")
    func announced() throws {
        let (outcome, file) = try Self.run(.respond(200, body: LiveServerAnswer.bytes(count: 1001)), limit: 1000)
        #expect(outcome.failure == .tooLarge)
        #expect(outcome.text == "the body of 1001 bytes is larger than the limit of 1000")
        #expect(file == [])
        #expect(
            try Self.run(.respond(200, body: LiveServerAnswer.bytes(count: 1000)), limit: 1000).outcome.failure == nil)
    }

    @Test("ends where it passes the limit if it is not")
    func unannounced() throws {
        let (outcome, file) = try Self.run(Self.chunked(600), limit: 1000)
        #expect(outcome.failure == .tooLarge)
        #expect(outcome.text == "the body is larger than the limit of 1000 bytes")
        #expect((file?.count ?? 0) <= 1000)
        #expect(try Self.run(Self.chunked(500), limit: 1000).outcome.failure == nil)
    }

    @Test("is one with what is held already")
    func resumed() throws {
        let fields = ["ETag: \"tide\"", "Content-Range: bytes 300-999/1000"]
        let answer = LiveServerAnswer.respond(206, fields, body: LiveServerAnswer.bytes(from: 300, count: 700))
        let resume = ResumePoint(offset: 300, validator: .etag("\"tide\""), total: 1000)
        let (outcome, file) = try Self.run(answer, limit: 999, resume: resume)
        #expect(outcome.failure == .tooLarge)
        #expect(outcome.text == "the body of 1000 bytes is larger than the limit of 999")
        #expect(file?.count == 300)
        #expect(try Self.run(answer, limit: 1000, resume: resume).outcome.failure == nil)
    }

    @Test("is measured after decoding", arguments: EncodedBody.allCases)
    func decoded(_ body: EncodedBody) throws {
        let encoded = body.encode([UInt8](repeating: 0, count: 10 << 20))
        let answer = LiveServerAnswer.respond(200, ["Content-Encoding: \(body.coding)"], body: encoded)
        let (outcome, file) = try Self.run(answer, limit: 1 << 20, compressed: true)
        #expect(outcome.failure == .tooLarge)
        #expect(outcome.text == "the body is larger than the limit of 1048576 bytes")
        #expect((file?.count ?? 0) <= 1 << 20)
        // What comes may be longer than what it means.
        let noise = LiveServerAnswer.bytes(count: 40)
        let longer = body.encode(noise)
        let small = LiveServerAnswer.respond(200, ["Content-Encoding: \(body.coding)"], body: longer)
        #expect(longer.count > noise.count)
        #expect(try Self.run(small, limit: 40, compressed: true).outcome.failure == nil)
    }

    @Test("of a refusal is the refusal's")
    func refusal() throws {
        let page = LiveServerAnswer.respond(404, body: LiveServerAnswer.bytes(count: 2000))
        #expect(try Self.run(page, limit: 1000).outcome.failure == .httpStatus)
    }
}

internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("A part is whole only if it has every byte of its range")
struct PartLengthTests {
    enum Framing: String, CaseIterable, Sendable {
        case chunked, closed
    }

    private static let held: Int64 = 300
    private static let total: Int64 = 1000

    /// A 206 for the bytes from 300 to 999 that has `count` of them.
    private static func part(_ count: Int64, _ framing: Framing, total: String = "1000") -> LiveServerAnswer {
        let range = ["ETag: \"tide\"", "Content-Range: bytes \(self.held)-999/\(total)"]
        let body = LiveServerAnswer.bytes(from: self.held, count: count)
        switch framing {
        case .chunked:
            let size = Array("\(String(count, radix: 16))\r\n".utf8)
            let end = Array("0\r\n\r\n".utf8)
            return LiveServerAnswer([
                .send(
                    LiveServerAnswer.head(206, range + ["Transfer-Encoding: chunked"])
                        + (count > 0 ? size + body + Array("\r\n".utf8) : []) + end)
            ])
        case .closed:
            return LiveServerAnswer([.send(LiveServerAnswer.head(206, range + ["Connection: close"]) + body), .close])
        }
    }

    private static func run(
        _ count: Int64, _ framing: Framing, total: String = "1000", into sink: (DownloadFile) -> BodySink
    ) throws -> (outcome: AttemptOutcome, file: [UInt8]?) {
        let server = try LiveServer { _ in self.part(count, framing, total: total) }
        defer { server.stop() }
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("f"))
        folder.write(".f.tidegate", LiveServerAnswer.bytes(count: self.held))
        let file = try DownloadFile.open(paths, keeping: self.held)
        var request = try AttemptRequest(1, server.url(), sink(file))
        request.resume = ResumePoint(
            offset: self.held, validator: .etag("\"tide\""), total: total == "*" ? nil : self.total)
        let outcome = try AttemptRecorder().run(request)
        return (outcome, folder.bytes(".f.tidegate"))
    }

    @Test("Every byte of the range is a success", arguments: Framing.allCases)
    func whole(_ framing: Framing) throws {
        let (outcome, file) = try Self.run(700, framing) { .file($0) }
        #expect(outcome.failure == nil)
        #expect(outcome.isLengthVerified)
        #expect(file == LiveServerAnswer.bytes(count: Self.total))
    }

    @Test("Fewer bytes are a body that broke off", arguments: [0, 500, 699], Framing.allCases)
    func fewer(_ count: Int64, _ framing: Framing) throws {
        for sink in [{ BodySink.file($0) }, { _ in BodySink.discard }] as [(DownloadFile) -> BodySink] {
            let (outcome, _) = try Self.run(count, framing, into: sink)
            #expect(outcome.failure == .truncated)
            #expect(!outcome.isLengthVerified)
        }
    }

    @Test("More bytes are another body, and none of them is written", arguments: [701, 705, 5000], Framing.allCases)
    func more(_ count: Int64, _ framing: Framing) throws {
        let (outcome, file) = try Self.run(count, framing) { .file($0) }
        #expect(outcome.failure == .rangeMismatch)
        #expect(outcome.text == "the server sent more bytes than the range that it named")
        #expect(file == LiveServerAnswer.bytes(count: Self.held))
    }

    @Test("A part of a whole of unknown length has its bytes, and proves no end", arguments: Framing.allCases)
    func unknownTotal(_ framing: Framing) throws {
        #expect(try Self.run(500, framing, total: "*", into: { .file($0) }).outcome.failure == .truncated)
        let (outcome, _) = try Self.run(700, framing, total: "*") { .file($0) }
        #expect(outcome.failure == nil)
        #expect(!outcome.isLengthVerified)
    }
}

internal import Glibc
internal import HTTPTypes
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("An encoded body", .timeLimit(.minutes(5)))
struct ContentDecodingTests {
    private static let text = LiveServerAnswer.bytes(count: 300_000)

    enum Framing: CaseIterable, Sendable {
        case length, chunked, closed

        func answer(_ coding: String, _ body: [UInt8], status: Int = 200) -> LiveServerAnswer {
            let fields = ["Content-Encoding: \(coding)"]
            switch self {
            case .length: return .respond(status, fields, body: body)
            case .chunked:
                let size = Array("\(String(body.count, radix: 16))\r\n".utf8)
                let head = LiveServerAnswer.head(status, fields + ["Transfer-Encoding: chunked"])
                let chunk = body.isEmpty ? [] : size + body + Array("\r\n".utf8)
                return LiveServerAnswer([.send(head + chunk + Array("0\r\n\r\n".utf8))])
            case .closed:
                let head = LiveServerAnswer.head(status, fields + ["Connection: close"])
                return LiveServerAnswer([.send(head + body), .close])
            }
        }
    }

    private static func run(
        _ answer: LiveServerAnswer, _ sink: BodySink = .memory(limit: 16 << 20), method: String = "GET"
    ) throws -> AttemptOutcome {
        let server = try LiveServer { _ in answer }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url(), sink)
        request.acceptsCompression = true
        request.method = method
        return try AttemptRecorder().run(request)
    }

    @Test("is decoded whole, with both lengths counted", arguments: EncodedBody.allCases, Framing.allCases)
    func whole(_ body: EncodedBody, _ framing: Framing) throws {
        let encoded = body.encode(Self.text)
        let outcome = try Self.run(framing.answer(body.coding, encoded))
        #expect(outcome.failure == nil, "\(outcome.text)")
        // The differences of long arrays take minutes to print.
        let isSame = outcome.body == Self.text
        #expect(isSame)
        #expect(outcome.progress.received == Int64(Self.text.count))
        #expect(outcome.progress.receivedWire == Int64(encoded.count))
    }

    // "hello".
    private static let zstandard: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x05, 0x29, 0, 0] + Array("hello".utf8)

    @Test("in Brotli is decoded by libcurl")
    func libcurls() throws {
        let encoded: [UInt8] = [0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03]
        // Beside one that is decoded here: both have the same handle of libcurl's.
        let server = try LiveServer { request in
            request.number % 2 == 1
                ? .respond(200, ["Content-Encoding: br"], body: encoded)
                : .respond(200, ["Content-Encoding: gzip"], body: EncodedBody.gzip.encode(Array("hello".utf8)))
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        for number in 1...4 {
            var request = try AttemptRequest(UInt64(number), server.url())
            request.acceptsCompression = true
            let outcome = try recorder.run(request)
            #expect(outcome.failure == nil, "\(outcome.text)")
            #expect(outcome.body == Array("hello".utf8))
        }
        #expect(server.requests.allSatisfy { $0.field("accept-encoding") == "gzip, deflate, br" })
    }

    @Test(
        "in a coding without a bounded window, or in several codings, is refused before it is decoded",
        arguments: ["zstd", "br, gzip", "gzip, zstd", "zstd, br"])
    func refused(_ coding: String) throws {
        let outcome = try Self.run(.respond(200, ["Content-Encoding: \(coding)"], body: Self.zstandard))
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the body is encoded as \(coding), which is not supported")
        #expect(outcome.progress.received == 0)
        // An error page in the same coding stays what it is.
        let page = try Self.run(.respond(404, ["Content-Encoding: \(coding)"], body: Self.zstandard))
        #expect(page.failure == .httpStatus)
        #expect(page.diagnosticBody == Self.zstandard)
    }

    @Test("of a transfer coding that was not requested is refused", arguments: [true, false])
    func transferCoding(acceptsCompression: Bool) throws {
        let size = Array("\(String(Self.zstandard.count, radix: 16))\r\n".utf8)
        let head = LiveServerAnswer.head(200, ["Transfer-Encoding: zstd", "Transfer-Encoding: chunked"])
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(head + size + Self.zstandard + Array("\r\n0\r\n\r\n".utf8))])
        }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url())
        request.acceptsCompression = acceptsCompression
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the body is transferred as zstd, which was not requested")
        #expect(outcome.body.isEmpty)
    }

    @Test("that ends in the middle is not whole", arguments: EncodedBody.allCases, Framing.allCases)
    func half(_ body: EncodedBody, _ framing: Framing) throws {
        let encoded = body.encode(Self.text)
        let ends = [1, 2, 9, 11, encoded.count / 4, encoded.count * 3 / 4, encoded.count - 1]
        for end in ends {
            let outcome = try Self.run(framing.answer(body.coding, Array(encoded[..<end])))
            // A connection that only closed may have broken off.
            #expect(outcome.failure == (framing == .closed ? .truncated : .protocolError), "\(end)")
            #expect(outcome.text == "the \(body.coding) body ends in the middle")
            #expect(!outcome.isLengthVerified)
        }
    }

    @Test("with bytes after its end that are not another member is refused", arguments: EncodedBody.allCases)
    func trailing(_ body: EncodedBody) throws {
        for rest in [[0], Array("garbage".utf8), [0x1F, 0x8A, 0x08]] as [[UInt8]] {
            let outcome = try Self.run(Framing.length.answer(body.coding, body.encode(Self.text) + rest))
            #expect(outcome.failure == .protocolError)
            #expect(outcome.text == "the \(body.coding) body continues after its end")
        }
    }

    @Test("with a wrong checksum is refused")
    func damaged() throws {
        var encoded = EncodedBody.gzip.encode(Self.text)
        encoded[encoded.count - 6] ^= 1
        let outcome = try Self.run(Framing.length.answer("gzip", encoded))
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the gzip body is damaged (incorrect data check)")
    }

    @Test("that is empty, or that the response does not have, is no failure")
    func none() throws {
        for framing in Framing.allCases { #expect(try Self.run(framing.answer("gzip", [])).failure == nil) }
        let head = LiveServerAnswer.head(200, ["Content-Encoding: gzip", "Content-Length: 100"])
        #expect(try Self.run(LiveServerAnswer([.send(head)]), method: "HEAD").failure == nil)
        let empty = LiveServerAnswer.head(204, ["Content-Encoding: gzip"])
        #expect(try Self.run(LiveServerAnswer([.send(empty)])).failure == nil)
        let same = LiveServerAnswer.head(304, ["Content-Encoding: gzip"])
        #expect(try Self.run(LiveServerAnswer([.send(same)])).text == "the server answered 304")
    }

    @Test("of an error says what it says, and never more than the status")
    func errorPage() throws {
        let page = Array("no such page".utf8)
        let outcome = try Self.run(Framing.length.answer("gzip", EncodedBody.gzip.encode(page), status: 404))
        #expect(outcome.failure == .httpStatus)
        #expect(outcome.diagnosticBody == page)
        for body in [Array("not gzip".utf8), Array(EncodedBody.gzip.encode(page).dropLast())] {
            #expect(try Self.run(Framing.length.answer("gzip", body, status: 404)).failure == .httpStatus)
        }
    }

    @Test("that grows without measure ends at the limit, and waits for a slow reader")
    func bomb() throws {
        let zeros = [UInt8](repeating: 0, count: 40 << 20)
        let answer = Framing.length.answer("gzip", EncodedBody.gzip.encode(zeros))
        #expect(try Self.run(answer, .memory(limit: 5 << 20)).failure == .tooLarge)
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        let server = try LiveServer { _ in answer }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        var request = try AttemptRequest(1, server.url(), .descriptor(ends[1]))
        request.acceptsCompression = true
        recorder.start(request)
        var (count, isZero) = (0, true)
        while count < zeros.count {
            var part = [UInt8](repeating: 1, count: 50_000)
            let step = read(ends[0], &part, part.count)
            try #require(step > 0)
            isZero = isZero && part.prefix(step).allSatisfy { $0 == 0 }
            count += step
        }
        let outcome = try recorder.outcome(of: AttemptID(1))
        #expect(outcome.failure == nil, "\(outcome.text)")
        #expect(outcome.progress.received == Int64(zeros.count))
        #expect(isZero)
        close(ends[0])
        close(ends[1])
    }
}

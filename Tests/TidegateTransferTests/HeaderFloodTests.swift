internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Field lines without an end")
struct HeaderFloodTests {
    private static let line = Array("X-Field: \(String(repeating: "x", count: 1000))\r\n".utf8)
    private static let flood = LiveServerAnswer.Step.send(Array(repeatElement(line, count: 2000).joined()))

    enum Place: String, CaseIterable, Sendable {
        case head, trailers, interimResponses

        var steps: [LiveServerAnswer.Step] {
            switch self {
            case .head: [.send(Array("HTTP/1.1 200 OK\r\n".utf8)), HeaderFloodTests.flood]
            case .trailers:
                [
                    .send(LiveServerAnswer.head(200, ["Transfer-Encoding: chunked"]) + Array("1\r\nx\r\n0\r\n".utf8)),
                    HeaderFloodTests.flood,
                ]
            case .interimResponses:
                Array(
                    repeating: .send(LiveServerAnswer.head(103, ["Link: <\(String(repeating: "x", count: 8000))>"])),
                    count: 200)
            }
        }
    }

    @Test("end the attempt, wherever they stand", arguments: Place.allCases)
    func flood(_ place: Place) throws {
        let server = try LiveServer { _ in LiveServerAnswer(place.steps) }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(try AttemptRequest(1, server.url(), .memory(limit: 1000)))
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the response has more than 262144 bytes of header fields")
    }
}

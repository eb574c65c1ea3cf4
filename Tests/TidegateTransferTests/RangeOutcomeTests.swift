internal import HTTPTypes
internal import Testing
internal import TidegateCore
internal import TidegateTransfer

@Suite("Range answers, as a table")
struct RangeOutcomeTests {
    struct Row: CustomTestStringConvertible {
        let status: Int
        let fields: String
        var point: ResumePoint? = ResumePoint(offset: 100, validator: .etag("\"a\""), total: 300)
        let answer: RangeOutcome

        var testDescription: String { "\(self.status) \(self.fields) -> \(self.answer)" }
    }

    private static let dated = ResumePoint(offset: 100, validator: .lastModified("Mon, 01 Jun 2026 10:00:00 GMT"))
    private static let unknownTotal = ResumePoint(offset: 100, validator: .etag("\"a\""))
    private static let unvalidated = ResumePoint(offset: 100, validator: nil, total: 300)

    private static let whole = ResumePoint(offset: 300, validator: nil, total: 300)

    private static let versioned = ResumePoint(
        offset: 100, validator: .etag("\"a\""), total: 300,
        version: [
            "etag": "\"a\"", "last-modified": "Mon, 01 Jun 2026 10:00:00 GMT", "repr-digest": "sha-256=:b2xk:",
        ])

    private static let zipped = ResumePoint(
        offset: 100, validator: .etag("\"a\""), total: 300, contentEncoding: "gzip")

    static let rows: [Row] = [
        // The whole was asked for.
        Row(status: 200, fields: "", point: nil, answer: .append),
        Row(status: 204, fields: "", point: nil, answer: .append),
        Row(status: 206, fields: "Content-Range: bytes 0-9/10", point: nil, answer: .reject(.protocolError)),
        Row(status: 101, fields: "", point: nil, answer: .reject(.protocolError)),
        Row(status: 301, fields: "", point: nil, answer: .reject(.httpStatus)),
        Row(status: 304, fields: "", point: nil, answer: .reject(.httpStatus)),
        Row(status: 404, fields: "", point: nil, answer: .reject(.httpStatus)),
        // A part with the status of the whole, which was asked for.
        Row(status: 200, fields: "Content-Range: bytes 100-299/300", point: nil, answer: .reject(.protocolError)),
        Row(status: 200, fields: "Content-Range: bytes 0-199/300", point: nil, answer: .reject(.protocolError)),
        Row(status: 200, fields: "Content-Range: bytes 0-299/300", point: nil, answer: .append),
        Row(status: 200, fields: "Content-Range: bytes 0-299/*", point: nil, answer: .append),
        Row(status: 200, fields: "Content-Range: 0-299", point: nil, answer: .append),
        // 206 that fits.
        Row(status: 206, fields: "Content-Range: bytes 100-299/300\r\nETag: \"a\"", answer: .append),
        Row(status: 206, fields: "content-range: BYTES 100-299/300\r\nContent-Length: 200", answer: .append),
        Row(status: 206, fields: "Content-Range: bytes 100-299/*", answer: .append),
        Row(status: 206, fields: "Content-Range: bytes 100-499/500", point: unknownTotal, answer: .append),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nETag: \"b\"", point: unvalidated, answer: .append),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nLast-Modified: Mon, 01 Jun 2026 10:00:00 GMT",
            point: dated, answer: .append),
        // An empty part behind the end, instead of 416.
        Row(
            status: 206, fields: "Content-Range: bytes 300-299/300\r\nContent-Length: 0",
            point: ResumePoint(offset: 300, validator: .etag("\"a\""), total: 300), answer: .alreadyComplete),
        Row(
            status: 206, fields: "Content-Range: bytes 300-299/300\r\nContent-Length: 0\r\nETag: \"b\"",
            point: ResumePoint(offset: 300, validator: .etag("\"a\""), total: 300),
            answer: .reject(.rangeMismatch)),
        // The question whether a file of 300 bytes is whole wants no body.
        Row(status: 416, fields: "Content-Range: bytes */300", point: whole, answer: .alreadyComplete),
        Row(status: 416, fields: "Content-Range: bytes */301", point: whole, answer: .reject(.rangeMismatch)),
        Row(status: 412, fields: "", point: whole, answer: .reject(.rangeMismatch)),
        Row(status: 200, fields: "Content-Length: 300", point: whole, answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 300-399/400", point: whole, answer: .reject(.rangeMismatch)),
        // 206 that does not.
        Row(status: 206, fields: "", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 99-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 0-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 100-298/300", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 100-399/400", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 100-299/300\r\nETag: \"b\"", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 100-299/300\r\nETag: W/\"a\"", answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nLast-Modified: Tue, 02 Jun 2026 10:00:00 GMT",
            point: dated, answer: .reject(.rangeMismatch)),
        // Every validator counts that both responses have.
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nLast-Modified: Tue, 02 Jun 2026 10:00:00 GMT",
            point: versioned, answer: .reject(.rangeMismatch)),
        Row(
            status: 206,
            fields: "Content-Range: bytes 100-299/300\r\nETag: \"a\"\r\nLast-Modified: Tue, 02 Jun 2026 10:00:00 GMT",
            point: versioned, answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nRepr-Digest: sha-256=:bmV3:", point: versioned,
            answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nRepr-Digest: sha-256=:b2xk:", point: versioned,
            answer: .append),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nLast-Modified: Mon, 01 Jun 2026 10:00:00 GMT",
            point: versioned, answer: .append),
        Row(status: 206, fields: "Content-Type: multipart/byteranges; boundary=x", answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nContent-Length: 7",
            answer: .reject(.rangeMismatch)),
        // What is held has an encoding, or none, and the rest must have the same.
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nContent-Encoding: gzip",
            answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-299/300\r\nContent-Encoding: GZIP", point: zipped,
            answer: .append),
        Row(status: 206, fields: "Content-Range: bytes 100-299/300", point: zipped, answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: lines 100-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes 100-x/300", answer: .reject(.rangeMismatch)),
        Row(
            status: 206, fields: "Content-Range: bytes 100-99999999999999999999/300", answer: .reject(.rangeMismatch)),
        Row(status: 206, fields: "Content-Range: bytes */300", answer: .reject(.rangeMismatch)),
        // The whole again: changed, or no ranges here.
        Row(status: 200, fields: "ETag: \"b\"\r\nContent-Length: 300", answer: .restartFromZero),
        Row(status: 200, fields: "", answer: .restartFromZero),
        Row(status: 203, fields: "", answer: .restartFromZero),
        Row(status: 200, fields: "Content-Range: bytes 0-299/300", answer: .restartFromZero),
        // The rest with the status of the whole.
        Row(status: 200, fields: "Content-Range: bytes 100-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 203, fields: "Content-Range: bytes 100-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 200, fields: "Content-Range: bytes 0-199/300", answer: .reject(.rangeMismatch)),
        Row(status: 200, fields: "Content-Range: 100-299/300", answer: .reject(.rangeMismatch)),
        Row(status: 200, fields: "ETag: \"a\"\r\nContent-Length: 200", answer: .reject(.rangeMismatch)),
        Row(status: 204, fields: "", answer: .reject(.protocolError)),
        // Nothing left to send, or a wrong idea of the length.
        Row(
            status: 416, fields: "Content-Range: bytes */100", point: unknownTotal, answer: .alreadyComplete),
        // 100 of 300 bytes are held: that the server has only 100 now does not make them whole.
        Row(status: 416, fields: "Content-Range: bytes */100", answer: .reject(.rangeMismatch)),
        Row(status: 416, fields: "Content-Range: bytes */99", point: unknownTotal, answer: .reject(.rangeMismatch)),
        Row(
            status: 416, fields: "Content-Range: bytes */100\r\nETag: \"b\"", point: unknownTotal,
            answer: .reject(.rangeMismatch)),
        Row(status: 416, fields: "", answer: .reject(.rangeMismatch)),
        Row(status: 412, fields: "", answer: .reject(.rangeMismatch)),
        Row(status: 101, fields: "", answer: .reject(.protocolError)),
        // The status decides.
        Row(status: 404, fields: "", answer: .reject(.httpStatus)),
        Row(status: 410, fields: "", answer: .reject(.httpStatus)),
        Row(status: 301, fields: "Location: /x", answer: .reject(.httpStatus)),
        Row(status: 503, fields: "Retry-After: 1", answer: .reject(.httpStatus)),
    ]

    @Test("Every kind of answer", arguments: rows)
    func evaluate(row: Row) {
        let fields = HeaderBlock("HTTP/1.1 \(row.status) Test\r\n\(row.fields)\r\n")
        #expect(RangeOutcome.evaluate(status: row.status, fields: fields, resume: row.point) == row.answer)
    }

    @Test("A part that the caller requests itself is left to it")
    func ownRange() {
        let fields = HeaderBlock("HTTP/1.1 206 Test\r\nContent-Range: bytes 0-9/10\r\n")
        #expect(RangeOutcome.evaluate(status: 206, fields: fields, resume: nil, requestsPart: true) == .append)
    }

    @Test("Fields are found whatever their case and white space")
    func fields() throws {
        let text = "HTTP/1.1 200 OK\r\nETAG:\t \"x\" \r\nContent-Length: 5\r\nSet-Cookie: a\r\nset-cookie: b\r\nX:\r\n"
        let head = try #require(ResponseHead(block: Array(text.utf8)))
        #expect(head.status == 200)
        #expect(head.field("etag") == "\"x\"")
        #expect(head.strongETag == "\"x\"")
        #expect(head.contentLength == 5)
        #expect(head.fields("set-cookie") == ["a", "b"])
        #expect(head.field("x") == "")
        #expect(head.field("y") == nil)
        #expect(head.fields.map(\.name.rawName) == ["ETAG", "Content-Length", "Set-Cookie", "set-cookie", "X"])
    }

    @Test(
        "Lengths that are no numbers, or contradict each other, are none",
        arguments: [
            "Content-Length: -1", "Content-Length: +5", "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 99999999999999999999", "Content-Length:", "Content-Length: 5, 5",
        ])
    func badLength(fields: String) {
        #expect(HeaderBlock("HTTP/1.1 200 OK\r\n\(fields)\r\n").contentLength == nil)
    }

    @Test("Weak and broken entity tags continue nothing", arguments: ["W/\"a\"", "a", "\"", ""])
    func weak(tag: String) {
        #expect(HeaderBlock("HTTP/1.1 200 OK\r\nETag: \(tag)\r\n").strongETag == nil)
    }
}

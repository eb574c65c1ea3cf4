/// What a ``LiveServer`` does with a request: steps in order.
package struct LiveServerAnswer: Sendable {
    /// One step.
    package enum Step: Sendable {
        /// Sends bytes as they are.
        case send([UInt8])
        /// Sends a body of so many bytes, byte n of it being ``LiveServerAnswer/byte(at:)`` of `from` + n.
        case pattern(from: Int64, count: Int64)
        /// Waits, unless the server stops.
        case wait(milliseconds: Int)
        /// Waits until a test opens the latch, unless the server stops.
        case waitFor(Latch)
        /// Closes the connection (FIN).
        case close
        /// Resets the connection (RST).
        case reset
        /// Sends these bytes again and again until the client closes or the server stops.
        case flood([UInt8])
        /// Sends nothing more until the client closes or the server stops.
        case hang
    }

    /// The steps, in order.
    ///
    /// After the last one the next request of the connection is read.
    package var steps: [Step]

    /// An answer with these steps.
    package init(_ steps: [Step]) { self.steps = steps }

    /// A complete answer with a length.
    package static func respond(
        _ status: Int = 200, _ fields: [String] = [], body: [UInt8] = []
    ) -> LiveServerAnswer {
        LiveServerAnswer([.send(self.head(status, fields + ["Content-Length: \(body.count)"]) + body)])
    }

    /// A complete answer with a text body.
    package static func respond(_ status: Int = 200, _ fields: [String] = [], text: String) -> LiveServerAnswer {
        self.respond(status, fields, body: Array(text.utf8))
    }

    /// An answer in chunks (RFC 9112 section 7.1); the last chunk is sent if `isWhole`.
    package static func chunked(_ chunks: [String], isWhole: Bool = true) -> LiveServerAnswer {
        let body = chunks.flatMap { Array("\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n".utf8) }
        let end = isWhole ? Array("0\r\n\r\n".utf8) : []
        return LiveServerAnswer([.send(self.head(200, ["Transfer-Encoding: chunked"]) + body + end)])
    }

    /// A body of the test pattern, or the requested range of it, with a strong entity tag.
    package static func pattern(
        _ total: Int64, for request: LiveServerRequest, etag: String = "\"tide\"", slice: Int64? = nil,
        pauseMilliseconds: Int = 0
    ) -> LiveServerAnswer {
        let requested = request.rangeStart
        let isSame = request.field("if-range").map { $0 == etag } ?? true
        let start = isSame ? requested ?? 0 : 0
        let fields = ["ETag: \(etag)", "Accept-Ranges: bytes"]
        guard start < total else { return .respond(416, fields + ["Content-Range: bytes */\(total)"]) }
        let range = start > 0 ? ["Content-Range: bytes \(start)-\(total - 1)/\(total)"] : []
        let head = self.head(start > 0 ? 206 : 200, fields + range + ["Content-Length: \(total - start)"])
        var steps: [Step] = [.send(head)]
        var sent = start
        while sent < total {
            let count = min(slice ?? total, total - sent)
            steps.append(.pattern(from: sent, count: count))
            if pauseMilliseconds > 0 { steps.append(.wait(milliseconds: pauseMilliseconds)) }
            sent += count
        }
        return LiveServerAnswer(steps)
    }

    /// Adds steps at the end.
    package func then(_ steps: Step...) -> LiveServerAnswer { LiveServerAnswer(self.steps + steps) }

    /// A status line and field lines with the empty line that ends them.
    package static func head(_ status: Int, _ fields: [String]) -> [UInt8] {
        Array((["HTTP/1.1 \(status) Test"] + fields + ["", ""]).joined(separator: "\r\n").utf8)
    }

    /// The test pattern's byte at an offset; the pattern repeats only after 251 · 256 bytes.
    package static func byte(at offset: Int64) -> UInt8 {
        UInt8(truncatingIfNeeded: offset % 251 ^ offset >> 8)
    }

    /// A part of the test pattern.
    package static func bytes(from start: Int64 = 0, count: Int64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
            for index in 0..<Int(count) { buffer[index] = self.byte(at: start + Int64(index)) }
            initialized = Int(count)
        }
    }
}

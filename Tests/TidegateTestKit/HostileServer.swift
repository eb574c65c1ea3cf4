internal import Synchronization

/// What malicious and broken servers do to a client, and how each request has to end.
///
/// A new trick is a row of ``tricks``. The same seed splits the bytes at the same
/// places.
package struct HostileServer: Sendable {
    /// How a request for ``body`` has to end.
    package enum End: Sendable, Hashable {
        /// With every byte of the body: the client asked again, or did not believe the trick.
        case whole
        /// As this failure, the server's.
        case failure(String)
        /// As this failure, for a limit of this host's own.
        case limit(String)
    }

    /// One trick.
    package struct Trick: Sendable, CustomStringConvertible {
        /// What it is called in results.
        package let description: String
        /// How the request has to end.
        package let end: End
        /// What the server does with a request.
        let steps: @Sendable (LiveServerRequest) -> [LiveServerAnswer.Step]

        init(
            _ name: String, _ end: End, _ steps: @escaping @Sendable (LiveServerRequest) -> [LiveServerAnswer.Step]
        ) {
            self.description = name
            self.end = end
            self.steps = steps
        }
    }

    /// The body that an honest answer has.
    package static let body = LiveServerAnswer.bytes(count: 700)
    /// How many bytes a client of the tricks may take.
    package static let limit = 1 << 20

    // What of the body an answer brings that breaks off.
    private static let held: Int64 = 200
    private static let version = "ETag: \"tide\""

    /// Every trick.
    package static var tricks: [Trick] {
        self.parts + self.lengths + self.floods + self.encodings + self.heads + self.redirects
    }

    private static func text(_ text: String) -> LiveServerAnswer.Step { .send(Array(text.utf8)) }

    private static func head(_ status: Int, _ fields: String...) -> LiveServerAnswer.Step {
        .send(LiveServerAnswer.head(status, fields))
    }

    // MARK: The rest of a body that has broken off

    /// An answer that breaks off, and tricks with the rest; a request for the whole gets an honest answer.
    private static func part(
        _ name: String, _ end: End = .whole,
        _ steps: @escaping @Sendable (_ start: Int64) -> [LiveServerAnswer.Step]
    ) -> Trick {
        Trick(name, end) { request in
            if let start = request.rangeStart { return steps(start) }
            let head = self.head(200, self.version, "Accept-Ranges: bytes", "Content-Length: \(self.body.count)")
            let all: LiveServerAnswer.Step = .send(self.body)
            return request.number == 1 ? [head, .pattern(from: 0, count: self.held), .close] : [head, all]
        }
    }

    private static func range(_ start: Int64, _ fields: String...) -> LiveServerAnswer.Step {
        let range = "Content-Range: bytes \(start)-\(self.body.count - 1)/\(self.body.count)"
        return .send(LiveServerAnswer.head(206, [self.version, range] + fields))
    }

    private static func chunk(_ start: Int64, _ count: Int64) -> [LiveServerAnswer.Step] {
        [self.text("\(String(count, radix: 16))\r\n"), .pattern(from: start, count: count), self.text("\r\n")]
    }

    private static var parts: [Trick] {
        [
            self.part("a chunked part without a byte") { start in
                [self.range(start, "Transfer-Encoding: chunked"), self.text("0\r\n\r\n")]
            },
            self.part("a chunked part that is too short") { start in
                [self.range(start, "Transfer-Encoding: chunked")] + self.chunk(start, 100) + [self.text("0\r\n\r\n")]
            },
            self.part("a chunked part that is too long") { start in
                [self.range(start, "Transfer-Encoding: chunked")] + self.chunk(start, 705 - start) + [
                    self.text("0\r\n\r\n")
                ]
            },
            self.part("a part that ends with its connection, too early") { start in
                [self.range(start, "Connection: close"), .pattern(from: start, count: 100), .close]
            },
            self.part("a part whose length is not its range's") { start in
                [self.range(start, "Content-Length: 10"), .pattern(from: start, count: 10)]
            },
            self.part("a part from another place") { start in
                [
                    self.range(start + 1, "Content-Length: \(699 - start)"),
                    .pattern(from: start + 1, count: 699 - start),
                ]
            },
            self.part("a part with an encoding of its own") { start in
                [
                    self.range(start, "Content-Encoding: gzip", "Content-Length: \(700 - start)"),
                    .pattern(from: start, count: 700 - start),
                ]
            },
            self.part("the range is not satisfiable, and its length is another") { start in
                [self.head(416, "Content-Range: bytes */\(start)", "Content-Length: 0")]
            },
        ]
    }

    // MARK: Lengths

    private static var lengths: [Trick] {
        [
            Trick("five of a thousand bytes", .failure("truncated")) { _ in
                [self.head(200, "Content-Length: 1000"), .pattern(from: 0, count: 5), .close]
            },
            Trick("half a chunk", .failure("truncated")) { _ in
                [
                    self.head(200, "Transfer-Encoding: chunked"), self.text("64\r\n"), .pattern(from: 0, count: 50),
                    .close,
                ]
            },
            Trick("a chunk without a size", .failure("protocolError")) { _ in
                [
                    self.head(200, "Transfer-Encoding: chunked"), self.text("zz\r\n"), .pattern(from: 0, count: 50),
                    .close,
                ]
            },
            Trick("two lengths", .failure("protocolError")) { _ in
                [self.head(200, "Content-Length: 5", "Content-Length: 7"), .pattern(from: 0, count: 7), .close]
            },
            Trick("more than the limit, announced", .limit("tooLarge")) { _ in
                [self.head(200, "Content-Length: \(self.limit + 1)"), .pattern(from: 0, count: 1000), .hang]
            },
            Trick("more than the limit, in chunks without end", .limit("tooLarge")) { _ in
                [
                    self.head(200, "Transfer-Encoding: chunked"),
                    .flood(Array("400\r\n".utf8) + self.kilobyte + [13, 10]),
                ]
            },
        ]
    }

    private static let kilobyte = [UInt8](repeating: 0x78, count: 1024)

    // MARK: What has no end

    private static var line: [UInt8] { Array("X-Field: ".utf8) + self.kilobyte + [13, 10] }

    private static var floods: [Trick] {
        [
            Trick("fields without end", .failure("protocolError")) { _ in
                [self.text("HTTP/1.1 200 OK\r\n"), .flood(self.line)]
            },
            Trick("a field without end", .failure("protocolError")) { _ in
                [self.text("HTTP/1.1 200 OK\r\nX-Field: "), .flood(self.kilobyte)]
            },
            Trick("trailers without end", .failure("protocolError")) { _ in
                [self.head(200, "Transfer-Encoding: chunked"), self.text("1\r\nx\r\n0\r\n"), .flood(self.line)]
            },
            Trick("interim responses without end", .failure("protocolError")) { _ in
                [.flood(LiveServerAnswer.head(103, ["Link: <\(String(repeating: "x", count: 4000))>"]))]
            },
        ]
    }

    // MARK: Encodings

    // "tide" as gzip: a header, one block that is not compressed, CRC-32 and length (RFC 1951, RFC 1952).
    private static let gzip: [UInt8] =
        [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 4, 0, 0xFB, 0xFF] + Array("tide".utf8)
        + [0x0C, 0x23, 0x56, 0xBE, 4, 0, 0, 0]

    // Each is 16 MiB of zeros in 14 bytes (RFC 7932), the first one with the stream's header.
    private static let brotliStart: [UInt8] = [207, 255, 255, 127, 0, 36, 0, 226, 177, 64, 114, 239, 255, 13]
    private static let brotliZeros: [UInt8] = [252, 255, 255, 7, 64, 2, 32, 14, 11, 64, 247, 254, 223, 0]

    private static func encoded(_ coding: String, _ bytes: some Collection<UInt8>) -> [LiveServerAnswer.Step] {
        [self.head(200, "Content-Encoding: \(coding)", "Content-Length: \(bytes.count)"), .send(Array(bytes))]
    }

    private static var encodings: [Trick] {
        [
            Trick("half a gzip stream", .failure("protocolError")) { _ in self.encoded("gzip", self.gzip.dropLast(10))
            },
            Trick("a gzip stream without its length", .failure("protocolError")) { _ in
                self.encoded("gzip", self.gzip.dropLast(4))
            },
            Trick("a gzip stream with another checksum", .failure("protocolError")) { _ in
                self.encoded("gzip", self.gzip.dropLast(8) + [0, 0, 0, 0, 4, 0, 0, 0])
            },
            Trick("bytes after a gzip stream", .failure("protocolError")) { _ in
                self.encoded("gzip", self.gzip + Array("smuggled".utf8))
            },
            Trick("gzip that is none", .failure("protocolError")) { _ in self.encoded("gzip", self.body) },
            Trick("half a deflate stream without its header", .failure("protocolError")) { _ in
                self.encoded("deflate", self.gzip[10..<16])
            },
            Trick("Brotli that becomes gigabytes", .limit("tooLarge")) { _ in
                self.encoded("br", self.brotliStart + Array(repeatElement(self.brotliZeros, count: 200).joined()))
            },
            Trick("an encoding that was not requested", .failure("protocolError")) { _ in
                self.encoded("snow", self.body)
            },
        ]
    }

    // MARK: Heads

    private static var heads: [Trick] {
        [
            Trick("status 600", .failure("protocolError")) { _ in
                [self.head(600, "Content-Length: 2"), self.text("ok")]
            },
            Trick("status 099", .failure("protocolError")) { _ in
                [self.text("HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nok"), .close]
            },
            Trick("no HTTP at all", .failure("protocolError")) { _ in [self.text("SSH-2.0-tide\r\n"), .close] },
            Trick("a NUL among the fields", .failure("protocolError")) { _ in
                [self.text("HTTP/1.1 200 OK\r\nX-Field: a\0b\r\nContent-Length: 2\r\n\r\nok"), .close]
            },
            Trick("nothing", .failure("reset")) { _ in [.close] },
            Trick("a reset", .failure("reset")) { _ in [.reset] },
            // A client that accepts the second answer gives it to the next request.
            Trick("a second answer that was not requested", .whole) { _ in
                [
                    self.head(200, "Content-Length: \(self.body.count)"), .send(self.body),
                    self.head(200, "Content-Length: 8"), self.text("smuggled"),
                ]
            },
        ]
    }

    // MARK: Redirects

    private static var redirects: [Trick] {
        [
            Trick("a redirect in circles", .failure("httpStatus")) { _ in
                [self.head(302, "Location: /again", "Content-Length: 0")]
            },
            Trick("a redirect to a file", .failure("protocolError")) { _ in
                [self.head(302, "Location: file:///etc/passwd", "Content-Length: 0")]
            },
            Trick("a redirect to an address that only libcurl reads", .failure("protocolError")) { _ in
                [self.head(302, "Location: http://0x7f.1:9/", "Content-Length: 0")]
            },
            Trick("a redirect to nowhere", .failure("protocolError")) { _ in
                [self.head(302, "Location: http://", "Content-Length: 0")]
            },
        ]
    }

    /// A server that does a trick; `seed` decides where heads and short bodies are split, 0 splits none.
    ///
    /// It numbers the requests for each path, so that tasks with paths of their own do not share a trick. `before` is
    /// called on a connection's thread before the request is answered.
    package static func serve(
        _ trick: Trick, seed: UInt64, before: @escaping @Sendable (LiveServerRequest) -> Void = { _ in }
    ) throws -> LiveServer {
        let counts = Mutex<[String: Int]>([:])
        return try LiveServer { request in
            var request = request
            request.number = counts.withLock { counts in
                counts[request.path, default: 0] += 1
                return counts[request.path] ?? 0
            }
            before(request)
            var generator = SeededGenerator(seed: seed << 32 | UInt64(request.number))
            let steps = trick.steps(request)
            return LiveServerAnswer(seed == 0 ? steps : steps.flatMap { self.split($0, using: &generator) })
        }
    }

    private static func split(
        _ step: LiveServerAnswer.Step, using generator: inout SeededGenerator
    ) -> [LiveServerAnswer.Step] {
        guard case .send(let bytes) = step, bytes.count > 1 else { return [step] }
        let place = Int.random(in: 1..<bytes.count, using: &generator)
        return [.send(Array(bytes[..<place])), .wait(milliseconds: 1), .send(Array(bytes[place...]))]
    }
}

internal import HTTPTypes
internal import TidegateCore

/// The response head being received.
struct ResponseHeadParser {
    /// Lines of the head so far; its memory is used again.
    private var lines: [UInt8] = []
    private(set) var isComplete = false
    /// The final head once it is complete.
    private(set) var status = 0
    private(set) var range = RangeAnswer.append
    private(set) var contentLength: Int64?
    private var judged: ResponseHead?

    /// A head larger than this is an attack or a defect.
    static let limit = 256 * 1024

    /// What a line did.
    enum Step { case more, complete, tooLarge }

    /// Appends a line, its end included.
    ///
    /// A status line starts anew: after 1xx, or where libcurl asked again.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Step {
        if ResponseHeadParser.isStatusLine(line) {
            self.clear()
        } else if self.isComplete {
            // Trailer fields come after the body; nobody reads them.
            return .more
        }
        guard !ResponseHeadParser.isEmptyLine(line) else { return self.isFinal() ? .complete : .more }
        guard self.lines.count + line.count <= ResponseHeadParser.limit else { return .tooLarge }
        self.lines.append(contentsOf: line)
        return .more
    }

    /// The head as a value; nil before it is complete.
    func value() -> ResponseHead? { self.judged }

    var block: HeaderBlock { HeaderBlock(self.lines) }

    mutating func clear() {
        self.lines.removeAll(keepingCapacity: true)
        self.isComplete = false
        self.status = 0
        self.contentLength = nil
        self.judged = nil
    }

    /// Judges a complete head by what was asked for; to be called once.
    mutating func judge(_ request: AttemptRequest) {
        let fields = self.block
        self.contentLength = fields.contentLength
        self.range = RangeAnswer.judge(
            status: self.status, fields: fields, resume: request.resume, asksForPart: request.asksForPart)
        // A copy of the right size: the buffer here stays with the slot.
        self.judged = ResponseHead(
            status: self.status, range: self.range, block: Array(self.lines[...]), contentLength: self.contentLength)
    }

    private mutating func isFinal() -> Bool {
        guard let status = HeaderBlock.status(in: self.lines), status >= 200 else { return false }
        self.status = status
        self.isComplete = true
        return true
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line[0] == 0x48 && line[1] == 0x54 && line[2] == 0x54 && line[3] == 0x50 && line[4] == 0x2F
    }

    private static func isEmptyLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count == 0 || line[0] == 0x0A || (line.count >= 2 && line[0] == 0x0D && line[1] == 0x0A)
    }
}

extension AttemptRequest {
    /// Whether the caller asks for a part by a field of its own.
    var asksForPart: Bool {
        self.headers.contains { $0.name == .range }
    }
}

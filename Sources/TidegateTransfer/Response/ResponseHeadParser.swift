internal import HTTPTypes
internal import TidegateCore

/// The response head being received.
struct ResponseHeadParser {
    /// Lines of the head so far; its memory is used again.
    private var lines: [UInt8] = []
    private(set) var isComplete = false
    /// The final head once it is complete.
    private(set) var status = 0
    private(set) var range = RangeOutcome.append
    private(set) var contentLength: Int64?
    /// How many bytes of body the head announces: by its length, or by the range that it names; nil if by neither.
    private(set) var announcedLength: Int64?
    /// Bytes of all lines: of interim responses, of the head and behind the body.
    private var lineBytes = 0
    /// The head as a value; nil before it was evaluated.
    private(set) var value: ResponseHead?

    /// More bytes of status lines and fields than this are an attack or a defect.
    ///
    /// libcurl keeps every one of them, and has no bound on their number.
    static let limit = 256 * 1024

    /// What a line did.
    enum Step {
        case more, complete, tooLarge
        /// The status is none of HTTP's; the text is what stands in its place.
        case badStatus(String)
    }

    /// Appends a line, its end included.
    ///
    /// A status line starts anew: after 1xx, or if libcurl sent the request again.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Step {
        self.lineBytes += line.count
        guard self.lineBytes <= ResponseHeadParser.limit else { return .tooLarge }
        if ResponseHeadParser.isStatusLine(line) {
            self.beginHead()
        } else if self.isComplete {
            // Trailer fields come after the body, and are not used.
            return .more
        }
        guard ResponseHeadParser.isEmptyLine(line) else {
            self.lines.append(contentsOf: line)
            return .more
        }
        guard let status = HeaderBlock.status(in: self.lines) else { return .badStatus(self.statusText) }
        guard status >= 200 else { return .more }
        self.status = status
        self.isComplete = true
        return .complete
    }

    var block: HeaderBlock { HeaderBlock(self.lines) }

    mutating func clear() {
        self.beginHead()
        self.lineBytes = 0
    }

    private mutating func beginHead() {
        self.lines.removeAll(keepingCapacity: true)
        self.isComplete = false
        self.status = 0
        self.contentLength = nil
        self.announcedLength = nil
        self.value = nil
    }

    /// Evaluates a complete head by what was requested; to be called once.
    mutating func evaluate(_ request: Indirect<AttemptRequest>) {
        let fields = self.block
        self.contentLength = fields.contentLength
        self.announcedLength =
            self.contentLength ?? (self.status == 206 ? fields.contentRange?.bounds?.length : nil)
        self.range =
            request.value.takesAnyStatus && !self.isRedirect
            ? .append
            : RangeOutcome.evaluate(
                status: self.status, fields: fields, resume: request.value.resume,
                requestsPart: request.requestsPart)
        // A copy of the right size: the buffer here stays for the next head.
        self.value = ResponseHead(
            status: self.status, range: self.range, block: Array(self.lines[...]), contentLength: self.contentLength)
    }

    // Its own body is of no interest (RFC 9110 15.4).
    private var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(self.status) && self.block.first("location") != nil
    }

    private var statusText: String {
        let rest = self.lines.prefix(64).drop { $0 != UInt8(ascii: " ") }.dropFirst()
        return String(decoding: rest.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line[0] == 0x48 && line[1] == 0x54 && line[2] == 0x54 && line[3] == 0x50 && line[4] == 0x2F
    }

    private static func isEmptyLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count == 0 || line[0] == 0x0A || (line.count >= 2 && line[0] == 0x0D && line[1] == 0x0A)
    }
}

extension Indirect<AttemptRequest> {
    /// Whether the caller requests a part by a field of its own.
    var requestsPart: Bool {
        self.value.headers.contains { $0.name == .range }
    }
}

package import HTTPTypes
package import TidegateCore

/// The head of a final response, kept as received and parsed only when a field is read.
package struct ResponseHead: Sendable {
    /// The status, 100 to 599.
    package let status: Int
    /// The relation of the body to the requested range.
    package let range: RangeOutcome
    // The status line and the field lines with their line ends, without the final empty line.
    let block: [UInt8]
    /// The Content-Length; nil if it is absent, contradictory or malformed.
    package let contentLength: Int64?

    /// The protocol version from the status line: `1.0`, `1.1` or `2`.
    package var version: String {
        String(decoding: self.block.prefix { $0 != UInt8(ascii: " ") }.dropFirst(5), as: UTF8.self)
    }

    /// The first field of that name, ignoring case, without surrounding white space; nil if absent.
    package func field(_ name: StaticString) -> String? { HeaderBlock(self.block).first(name) }

    /// All fields of that name, in order.
    package func fields(_ name: StaticString) -> [String] { HeaderBlock(self.block).all(name) }

    /// Every field, in order.
    package var fields: [HTTPField] { HeaderBlock(self.block).fields }

    /// The entity tag, quotes included, if it is a strong one (RFC 9110 section 8.8.3).
    package var strongETag: String? { HeaderBlock(self.block).strongETag }

    /// The Content-Encoding in lower case; nil if the body is not encoded (RFC 9110 section 8.4).
    package var contentEncoding: String? { HeaderBlock(self.block).contentEncoding }

    /// The length of the whole body on the wire, according to this response: the total of Content-Range, or
    /// Content-Length.
    package var totalLength: Int64? {
        self.status == 206 || self.status == 416
            ? HeaderBlock(self.block).contentRange?.total : self.contentLength
    }
}

extension ResponseHead {
    /// Parses a head as received; nil if its status line is malformed.
    package init?(block: [UInt8], requesting resume: ResumePoint? = nil) {
        guard let status = HeaderBlock.status(in: block) else { return nil }
        self.status = status
        self.block = block
        let fields = HeaderBlock(block)
        self.range = RangeOutcome.evaluate(status: status, fields: fields, resume: resume)
        self.contentLength = fields.contentLength
    }
}

/// The response head being received.
struct ResponseHeadParser {
    /// The lines of the head so far; the memory is reused.
    private var lines: [UInt8] = []
    private(set) var isComplete = false
    /// The final head once it is complete.
    private(set) var status = 0
    private(set) var range = RangeOutcome.append
    /// The number of body bytes that the head announces by a length or a range; nil if it has neither.
    private(set) var announcedLength: Int64?
    /// The bytes of all lines: interim responses, head and trailer.
    private var lineBytes = 0
    /// The parsed head; nil before ``evaluate(_:)``.
    private(set) var value: ResponseHead?

    /// A response with more bytes of status lines and fields is an attack or a defect.
    ///
    /// libcurl keeps every line and has no limit on their number.
    static let limit = 256 * 1024
    // How much memory a free transfer keeps for its next head, so that a crowd of attacks does not stay in memory.
    private static let memoryKept = 8 * 1024

    /// The result of appending a line.
    enum Step {
        case more, complete, tooLarge
        /// The status is not valid in HTTP; the text is the one in its place.
        case badStatus(String)
        /// The status line does not follow RFC 9112 section 4; the text is its printable start.
        case badStatusLine(String)
    }

    /// Appends a line, including its line end.
    ///
    /// A status line starts a new head: after 1xx, or if libcurl sent the request again.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Step {
        self.lineBytes += line.count
        guard self.lineBytes <= ResponseHeadParser.limit else { return .tooLarge }
        if ResponseHeadParser.isStatusLine(line) {
            self.beginHead()
        } else if self.isComplete {
            // Trailer fields come after the body and are not used.
            return .more
        }
        guard ResponseHeadParser.isEmptyLine(line) else {
            self.lines.append(contentsOf: line)
            return .more
        }
        guard let status = HeaderBlock.status(in: self.lines) else { return self.badStatus }
        // A response that switches protocols is the last one in HTTP (RFC 9110 section 15.2.2).
        guard status >= 200 || status == 101 else { return .more }
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
        self.lines.removeAll(keepingCapacity: self.lines.capacity <= ResponseHeadParser.memoryKept)
        self.isComplete = false
        self.status = 0
        self.announcedLength = nil
        self.value = nil
    }

    /// Evaluates a complete head for a request; must be called once.
    mutating func evaluate(_ request: Indirect<AttemptRequest>) {
        let fields = self.block
        let contentLength = fields.contentLength
        self.announcedLength =
            contentLength ?? (self.status == 206 ? fields.contentRange?.bounds.map { Int64($0.count) } : nil)
        self.range =
            request.value.takesAnyStatus && !self.isRedirect
            ? .append
            : RangeOutcome.evaluate(
                status: self.status, fields: fields, resume: request.value.resume,
                requestsPart: request.value.headers.contains { $0.name == .range })
        // A copy of the right size: this buffer is reused for the next head.
        self.value = ResponseHead(
            status: self.status, range: self.range, block: Array(self.lines[...]), contentLength: contentLength)
    }

    // The body of a redirect is not used (RFC 9110 15.4).
    private var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(self.status) && self.block.first("location") != nil
    }

    private var badStatus: Step {
        let line = self.lines.prefix(64).prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let status = line.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix { $0 != UInt8(ascii: " ") }
        if status.count == 3, HeaderBlock.count(status) != nil {
            return .badStatus(String(decoding: status, as: UTF8.self))
        }
        let printable = line.filter { (0x20..<0x7F).contains($0) }
        return .badStatusLine(String(decoding: printable.prefix(24), as: UTF8.self))
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line[0] == 0x48 && line[1] == 0x54 && line[2] == 0x54 && line[3] == 0x50 && line[4] == 0x2F
    }

    private static func isEmptyLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count == 0 || line[0] == 0x0A || (line.count >= 2 && line[0] == 0x0D && line[1] == 0x0A)
    }
}

/// How a response's body relates to the requested range and the bytes already held.
package enum RangeOutcome: Sendable, Hashable {
    /// The body continues at the end of the resume point, or starts at 0 if none was given.
    case append
    /// The body is complete: the engine discards the bytes already held before the first new one.
    case restartFromZero
    /// Nothing is missing.
    case alreadyComplete
    /// The body cannot be used.
    ///
    /// `rangeMismatch`: the held bytes cannot be continued, request everything again; `httpStatus`: the status decides;
    /// `protocolError`: the response is malformed.
    case reject(TaskFailure)

    /// Evaluates a response by its status and fields, before the first byte of its body is used.
    ///
    /// `resume` was requested with Range and If-Range. It is nil if the whole body was requested or, with
    /// `requestsPart`, a part that the caller handles itself.
    package static func evaluate(
        status: Int, fields: HeaderBlock, resume: ResumePoint?, requestsPart: Bool = false
    ) -> RangeOutcome {
        guard status != 101 else { return .reject(.protocolError) }
        guard let resume else {
            guard status != 206 || requestsPart else { return .reject(.protocolError) }
            guard (200...299).contains(status) else { return .reject(.httpStatus) }
            return status == 206 || requestsPart || self.isWhole(fields, nil) ? .append : .reject(.protocolError)
        }
        return switch status {
        case 206: self.isEmptyRest(fields, resume) ? .alreadyComplete : self.partial(fields, resume)
        // 203 is a 200 that a proxy transformed (RFC 9110 section 15.3.4).
        case 200, 203:
            !resume.isWhole && self.isWhole(fields, resume) ? .restartFromZero : .reject(.rangeMismatch)
        case 416: self.unsatisfied(fields, resume)
        case 412: .reject(.rangeMismatch)
        case 200...299: .reject(.protocolError)
        default: .reject(.httpStatus)
        }
    }

    private static func partial(_ fields: HeaderBlock, _ resume: ResumePoint) -> RangeOutcome {
        // multipart/byteranges has no Content-Range of its own, and libcurl would write its boundaries into the file.
        guard let range = fields.contentRange, let bounds = range.bounds, bounds.lowerBound == resume.offset
        else { return .reject(.rangeMismatch) }
        if let known = resume.total, let total = range.total, known != total { return .reject(.rangeMismatch) }
        // The requested range was open-ended: a response that stops earlier leaves the body incomplete.
        if let total = range.total ?? resume.total, bounds.upperBound != total - 1 { return .reject(.rangeMismatch) }
        if let length = fields.contentLength, length != Int64(bounds.count) { return .reject(.rangeMismatch) }
        guard fields.contentEncoding == resume.contentEncoding else { return .reject(.rangeMismatch) }
        return self.isSameBody(fields, resume) ? .append : .reject(.rangeMismatch)
    }

    // Some servers answer a request behind the end with an empty part instead of 416.
    private static func isEmptyRest(_ fields: HeaderBlock, _ resume: ResumePoint) -> Bool {
        let end = resume.offset
        return fields.contentLength == 0 && resume.total ?? end == end && self.isSameBody(fields, resume)
            && fields.first("content-range")?.lowercased() == "bytes \(end)-\(end - 1)/\(end)"
    }

    // A 206 must repeat the validator that a 200 would have had (RFC 9110 section 15.3.7); absence proves nothing.
    private static func isSameBody(_ fields: HeaderBlock, _ resume: ResumePoint) -> Bool {
        let version = resume.version
        return ResumePoint.versionNames.allSatisfy { name in
            guard let known = version["\(name)"], let found = fields.first(name) else { return true }
            return known == found
        }
    }

    // Some servers send a part with the status of the whole: Content-Range or the length of the rest tells.
    private static func isWhole(_ fields: HeaderBlock, _ resume: ResumePoint?) -> Bool {
        if let resume, let total = resume.total, fields.contentLength == total - resume.offset { return false }
        guard fields.first("content-range") != nil else { return true }
        // Without a request for a part, a malformed field proves nothing.
        guard let range = fields.contentRange, let bounds = range.bounds else { return resume == nil }
        return bounds.lowerBound == 0 && bounds.upperBound == (range.total ?? bounds.upperBound + 1) - 1
    }

    private static func unsatisfied(_ fields: HeaderBlock, _ resume: ResumePoint) -> RangeOutcome {
        guard let range = fields.contentRange, range.bounds == nil, range.total == resume.offset,
            resume.total ?? resume.offset == resume.offset, self.isSameBody(fields, resume)
        else { return .reject(.rangeMismatch) }
        return .alreadyComplete
    }
}

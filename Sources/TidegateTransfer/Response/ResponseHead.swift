package import HTTPTypes
package import TidegateCore

/// The head of a final response, kept as it came and parsed only when a field is read.
package struct ResponseHead: Sendable {
    /// The status, 100 to 599.
    package let status: Int
    /// What the body is, given the range that was requested.
    package let range: RangeOutcome
    // The status line and the field lines with their line ends, without the empty line.
    let block: [UInt8]
    /// The Content-Length; nil if it is absent, contradicts itself or is no number.
    package let contentLength: Int64?

    /// The protocol's version as the status line gives it: `1.0`, `1.1` or `2`.
    package var version: String {
        String(decoding: self.block.prefix { $0 != UInt8(ascii: " ") }.dropFirst(5), as: UTF8.self)
    }

    /// The first field of that name, case ignored, without surrounding white space; nil without one.
    package func field(_ name: StaticString) -> String? { HeaderBlock(self.block).first(name) }

    /// All fields of that name, in order.
    package func fields(_ name: StaticString) -> [String] { HeaderBlock(self.block).all(name) }

    /// Every field, in order.
    package var fields: [HTTPField] { HeaderBlock(self.block).fields }

    /// The entity tag, quotes included, if it is a strong one (RFC 9110 section 8.8.3).
    package var strongETag: String? { HeaderBlock(self.block).strongETag }

    /// The Content-Encoding in small letters; nil if the body is the plain one (RFC 9110 section 8.4).
    package var contentEncoding: String? { HeaderBlock(self.block).contentEncoding }

    /// The whole body's length on the wire as this response gives it: the total of Content-Range, or Content-Length.
    package var totalLength: Int64? {
        self.status == 206 || self.status == 416
            ? HeaderBlock(self.block).contentRange?.total : self.contentLength
    }
}

extension ResponseHead {
    /// Parses a head as it stands on the wire; nil if its status line is malformed.
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
    /// Lines of the head so far; its memory is used again.
    private var lines: [UInt8] = []
    private(set) var isComplete = false
    /// The final head once it is complete.
    private(set) var status = 0
    private(set) var range = RangeOutcome.append
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
        self.announcedLength = nil
        self.value = nil
    }

    /// Evaluates a complete head by what was requested; to be called once.
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
        // A copy of the right size: the buffer here stays for the next head.
        self.value = ResponseHead(
            status: self.status, range: self.range, block: Array(self.lines[...]), contentLength: contentLength)
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

/// What a response's body is, given the range that was requested and the bytes that are held.
package enum RangeOutcome: Sendable, Hashable {
    /// The body goes on where the resume point ends; from 0 if none was given.
    case append
    /// The body is the whole one: what is held is discarded, by the engine before the first byte.
    case restartFromZero
    /// Nothing is missing.
    case alreadyComplete
    /// The body is of no use.
    ///
    /// `rangeMismatch`: what is held cannot be continued, request it once more from 0; `httpStatus`: the status
    /// decides; `protocolError`: the response is malformed.
    case reject(TaskFailure)

    /// Evaluates a response by its status and fields, before the first byte of its body is used.
    ///
    /// `resume` is what was requested with Range and If-Range; nil if the whole body was, or, if `requestsPart`, a part
    /// that the caller handles itself.
    package static func evaluate(
        status: Int, fields: HeaderBlock, resume: ResumePoint?, requestsPart: Bool = false
    ) -> RangeOutcome {
        guard let resume else {
            guard status != 206 || requestsPart else { return .reject(.protocolError) }
            return (200...299).contains(status) ? .append : .reject(.httpStatus)
        }
        return switch status {
        case 206: self.partial(fields, resume)
        // 203 is a 200 that a proxy transformed (RFC 9110 section 15.3.4).
        case 200, 203: .restartFromZero
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
        // The range was open at the end: a response that stops earlier leaves the body incomplete.
        if let total = range.total ?? resume.total, bounds.upperBound != total - 1 { return .reject(.rangeMismatch) }
        if let length = fields.contentLength, length != Int64(bounds.count) { return .reject(.rangeMismatch) }
        guard fields.contentEncoding == resume.contentEncoding else { return .reject(.rangeMismatch) }
        return self.isSameBody(fields, resume.validator) ? .append : .reject(.rangeMismatch)
    }

    // A 206 must repeat the validator if a 200 would have had it (RFC 9110 section 15.3.7); absence proves nothing.
    private static func isSameBody(_ fields: HeaderBlock, _ validator: ResumePoint.Validator?) -> Bool {
        switch validator {
        case .etag(let tag): fields.first("etag").map { $0 == tag } ?? true
        case .lastModified(let date): fields.first("last-modified").map { $0 == date } ?? true
        case nil: true
        }
    }

    private static func unsatisfied(_ fields: HeaderBlock, _ resume: ResumePoint) -> RangeOutcome {
        guard let range = fields.contentRange, range.bounds == nil, range.total == resume.offset,
            resume.total ?? resume.offset == resume.offset, self.isSameBody(fields, resume.validator)
        else { return .reject(.rangeMismatch) }
        return .alreadyComplete
    }
}

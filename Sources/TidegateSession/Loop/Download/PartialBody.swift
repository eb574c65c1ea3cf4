internal import TidegateCore
internal import TidegateTransfer

/// The part of a task's response body held between attempts, and how to continue it.
struct PartialBody {
    /// The number of bytes held, from the body's start.
    var offset: Int64 = 0
    /// How the server recognises that the rest belongs to the same body; nil if it cannot.
    var validator: ResumePoint.Validator?
    /// The fields that tell versions of the body apart.
    private var version: [String: String] = [:]
    /// The length of the whole body; nil while unknown.
    var total: Int64?
    /// The Content-Encoding of the held bytes; nil if they are not encoded.
    private(set) var contentEncoding: String?
    /// Where this task began to receive: after the part from an earlier process.
    var start: Int64 = 0
    /// The furthest offset ever received.
    private(set) var furthest: Int64 = 0
    /// True if the body had to be requested from the start again.
    var wasRestarted = false
    /// True if the body consists of responses to more than one request.
    private(set) var isJoined = false
    /// True if a digest verifies the whole body, so that its parts need no validator.
    var isVerified = false
    /// True if the response agrees with an earlier one in its length or its validators.
    private(set) var isProved = false

    /// True if the rest may be requested once bytes are held.
    var mayContinue: Bool { self.validator != nil || self.isVerified }

    /// Where the next attempt starts; nil to request everything.
    var resumePoint: ResumePoint? { self.offset > 0 && self.mayContinue ? self.point(at: self.offset) : nil }

    /// Where another process could continue if `offset` bytes are held by then.
    func point(at offset: Int64) -> ResumePoint {
        ResumePoint(
            offset: offset, validator: self.validator, total: self.total, contentEncoding: self.contentEncoding,
            version: self.version)
    }

    /// Adopts the part of an earlier process.
    mutating func adopt(_ point: ResumePoint, held: Int64) {
        self.offset = held
        self.start = held
        self.furthest = held
        self.isJoined = true
        self.validator = point.validator
        self.version = point.version
        self.total = point.total
        self.contentEncoding = point.contentEncoding
    }

    /// Takes the head of a response: its validators and the start of its body.
    mutating func begin(_ head: ResponseHead, canContinue: Bool) {
        let isContinued = head.range == .append && self.offset > 0
        self.isProved = isContinued || (self.total != nil && head.totalLength == self.total)
        self.total = head.totalLength ?? (head.range == .append ? self.total : nil)
        if isContinued { self.isJoined = true }
        // Most bodies cannot be continued, so their heads need no search.
        self.contentEncoding = canContinue ? head.contentEncoding : nil
        // A 206 need not repeat the validator of its request.
        let (kept, known) = head.status == 206 ? (self.validator, self.version) : (nil, [:])
        self.validator = canContinue ? PartialBody.validator(of: head) ?? kept : nil
        self.version = known
        for name in ResumePoint.versionNames where canContinue {
            if let value = head.field(name) { self.version["\(name)"] = value }
        }
    }

    /// Discards everything held; returns the number of bytes.
    mutating func restart() -> Int64 {
        let discarded = self.offset
        self.startOver()
        self.validator = nil
        self.wasRestarted = true
        return discarded
    }

    /// Resets the offset after everything held was lost: the next attempt requests the whole body.
    mutating func startOver() {
        self.offset = 0
        self.start = 0
        self.isJoined = false
    }

    /// Records `received` bytes from `offset`; returns how many of them had arrived before.
    mutating func take(from offset: Int64, received: Int64, isKept: Bool) -> Int64 {
        let end = offset + received
        let again = max(0, min(self.furthest, end) - offset)
        self.furthest = max(self.furthest, end)
        self.offset = isKept ? end : 0
        return again
    }

    private static func validator(of head: ResponseHead) -> ResumePoint.Validator? {
        if let tag = head.strongETag { return .etag(tag) }
        guard let text = head.field("Last-Modified"), let date = head.field("Date"),
            let modified = HTTPDate.parse(text, year: 2000), let answered = HTTPDate.parse(date, year: 2000),
            answered - modified >= 60
        else { return nil }
        return .lastModified(text)
    }
}

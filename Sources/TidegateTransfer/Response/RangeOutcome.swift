package import TidegateCore

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
}

extension RangeOutcome {
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
        if let length = fields.contentLength, length != bounds.length {
            return .reject(.rangeMismatch)
        }
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

/// What is held of a body already, and how the server recognises that it is still the same one.
package struct ResumePoint: Sendable, Hashable {
    /// The bytes held; the next one wanted.
    package var offset: Int64
    /// What goes into If-Range.
    package var validator: ResumeValidator
    /// The length of the whole body; nil where it is unknown.
    package var total: Int64?

    package init(offset: Int64, validator: ResumeValidator, total: Int64? = nil) {
        self.offset = offset
        self.validator = validator
        self.total = total
    }
}

/// A validator strong enough for If-Range (RFC 9110 section 13.1.5).
package enum ResumeValidator: Sendable, Hashable {
    /// A strong entity tag, quotes included.
    case etag(String)
    /// A Last-Modified date as the server wrote it; whoever makes one has checked that it is at least 60 s older than
    /// the answer's Date.
    case lastModified(String)
    /// None: the caller knows the body's digest and will check the whole, so that no If-Range is sent.
    case digest

    /// The value of the If-Range field; nil where none is sent.
    package var fieldValue: String? {
        switch self {
        case .etag(let tag): tag
        case .lastModified(let date): date
        case .digest: nil
        }
    }
}

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

    /// The first field of that name, case ignored, without surrounding white space; nil if there is none.
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

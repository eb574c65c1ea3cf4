internal import Glibc
package import HTTPTypes

/// Field lines as received, searched on demand: only two or three fields of most heads are read.
package struct HeaderBlock: Sendable {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a block from text, for tables in tests.
    package init(_ text: String) { self.bytes = Array(text.utf8) }

    /// The first field of that name, ignoring case.
    package func first(_ name: StaticString) -> String? {
        var result: String?
        self.forEach(name) { range in
            result = String(decoding: self.bytes[range], as: UTF8.self)
            return false
        }
        return result
    }

    /// All fields of that name.
    package func all(_ name: StaticString) -> [String] {
        var result: [String] = []
        self.forEach(name) { range in
            result.append(String(decoding: self.bytes[range], as: UTF8.self))
            return true
        }
        return result
    }

    /// Every field line with a valid name.
    package var fields: [HTTPField] {
        var result: [HTTPField] = []
        var start = 0
        while let line = self.line(from: start) {
            start = line.next
            guard let colon = self.bytes[line.range].firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: self.bytes[line.range.lowerBound..<colon], as: UTF8.self))
            else { continue }
            result.append(HTTPField(name: name, value: self.bytes[self.trimmed(colon + 1..<line.range.upperBound)]))
        }
        return result
    }

    /// The status in a status line at the start; nil without one.
    static func status(in bytes: [UInt8]) -> Int? {
        guard let space = bytes.prefix(12).firstIndex(of: UInt8(ascii: " ")), bytes.count >= space + 4,
            let status = self.count(bytes[space + 1...space + 3]), (100...599).contains(status)
        else { return nil }
        return Int(status)
    }

    private func forEach(_ name: StaticString, _ visit: (Range<Int>) -> Bool) {
        let length = name.utf8CodeUnitCount
        var start = 0
        while start < self.bytes.count {
            // Names contain no line end, so a match is within this line.
            let colon = start + length
            if colon < self.bytes.count, self.bytes[colon] == UInt8(ascii: ":"), self.matches(name, at: start),
                let line = self.line(from: start)
            {
                guard visit(self.trimmed(colon + 1..<line.range.upperBound)) else { return }
            }
            start = (self.lineEnd(from: start) ?? self.bytes.count) + 1
        }
    }

    private func matches(_ name: StaticString, at start: Int) -> Bool {
        name.withUTF8Buffer { wanted in
            for (offset, byte) in wanted.enumerated()
            where HeaderBlock.lowered(self.bytes[start + offset]) != HeaderBlock.lowered(byte) { return false }
            return true
        }
    }

    static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

    private func line(from start: Int) -> (range: Range<Int>, next: Int)? {
        guard start < self.bytes.count else { return nil }
        let end = self.lineEnd(from: start) ?? self.bytes.count
        let hasReturn = end > start && self.bytes[end - 1] == UInt8(ascii: "\r")
        return (start..<(hasReturn ? end - 1 : end), end + 1)
    }

    // Every head is searched; memchr(3) does that sixteen bytes at a time.
    private func lineEnd(from start: Int) -> Int? {
        self.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count else { return nil }
            return memchr(base + start, 0x0A, bytes.count - start).map { UnsafeRawPointer($0) - base }
        }
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isSpace(self.bytes[start]) { start += 1 }
        while end > start, isSpace(self.bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    // MARK: - Fields used here

    /// The Content-Length; nil if it is absent, malformed, or given twice with different values (RFC 9112 6.3).
    package var contentLength: Int64? {
        var length: Int64?
        var isGood = true
        self.forEach("content-length") { range in
            let next = HeaderBlock.count(self.bytes[range])
            isGood = next != nil && (length == nil || length == next)
            length = next
            return isGood
        }
        return isGood ? length : nil
    }

    /// Two different lengths in Content-Length fields; nil if none contradicts another.
    var contradictoryLengths: (Int64, Int64)? {
        let lengths = self.all("content-length").flatMap { $0.split(separator: ",") }
            .compactMap { HeaderBlock.count($0.utf8.filter { $0 != 0x20 && $0 != 0x09 }) }
        guard let first = lengths.first, let other = lengths.first(where: { $0 != first }) else { return nil }
        return (first, other)
    }

    /// The entity tag if it is a strong one.
    package var strongETag: String? {
        guard let tag = self.first("etag"), tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
        return tag
    }

    /// The Content-Encoding in lower case; nil if it is absent or `identity` (RFC 9110 section 8.4).
    package var contentEncoding: String? {
        let codings = self.codings("content-encoding")
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// A transfer coding that no request asks for, and that libcurl would decode all the same.
    var unrequestedTransferCoding: String? { self.codings("transfer-encoding").first { $0 != "chunked" } }

    private func codings(_ name: StaticString) -> [String] {
        self.all(name).flatMap { $0.lowercased().split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty && $0 != "identity" }
    }

    /// Content-Range: `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10` (RFC 9110 section 14.4); nil if it is absent
    /// or malformed.
    var contentRange: ContentRange? { self.first("content-range").flatMap(ContentRange.init) }

    /// Parses a number of decimal digits only; nil for anything else and on overflow.
    static func count(_ digits: some Collection<UInt8>) -> Int64? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}

/// The value of a Content-Range field (RFC 9110 section 14.4).
struct ContentRange: Hashable {
    /// The first and last byte of the sent range; nil if the range cannot be satisfied.
    let bounds: ClosedRange<Int64>?
    /// The length of the whole body; nil if the server does not know it.
    let total: Int64?

    /// Parses `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let range = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard range.count == 2 else { return nil }
        let total = range[1] == "*" ? nil : HeaderBlock.count(range[1].utf8)
        guard total != nil || range[1] == "*" else { return nil }
        self.total = total
        if range[0] == "*" {
            guard total != nil else { return nil }
            self.bounds = nil
            return
        }
        let ends = range[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = HeaderBlock.count(ends[0].utf8), let last = HeaderBlock.count(ends[1].utf8),
            first <= last, last < (total ?? .max)
        else { return nil }
        self.bounds = first...last
    }
}

/// Why bytes are not JSON; the message quotes none of them.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The rule that the bytes break.
    public enum Kind: Sendable, Hashable {
        /// A value has to stand here, and none does.
        case noValue
        /// The text ends inside a value.
        case endOfText
        /// Something follows the value.
        case trailingBytes
        /// A string contains a control character, or is not UTF-8.
        case invalidString
        /// An escape that RFC 8259 section 7 does not know.
        case invalidEscape
        /// `\uD800` to `\uDFFF` without its other half: no character is meant.
        case loneSurrogate
        /// A number of another form than RFC 8259 section 6 has, or one larger than a double holds.
        case invalidNumber
        /// A comma, a colon, a name or a closing bracket is missing.
        case invalidStructure
        /// Arrays and objects more than 512 deep.
        case tooDeep
    }

    /// The rule that the bytes break.
    public let kind: Kind
    /// Where, in bytes from the start.
    public let offset: Int

    package init(kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    /// One clause without a final full stop.
    public var description: String {
        let problem =
            switch self.kind {
            case .noValue: "no value begins"
            case .endOfText: "the text ends inside a value"
            case .trailingBytes: "something follows the value"
            case .invalidString: "a string has a control character in it, or is not UTF-8"
            case .invalidEscape: "an escape is unknown"
            case .loneSurrogate: "a surrogate has no other half"
            case .invalidNumber: "a number has another form than JSON's, or is too large"
            case .invalidStructure: "a comma, a colon, a name or a bracket is missing"
            case .tooDeep: "values are nested more than 512 deep"
            }
        return "not JSON: \(problem) at byte \(self.offset)"
    }
}

/// Reads a text of JSON.
struct JSONParser {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() throws(JSONError) -> JSONValue {
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.offset = 3 }
        let value = try self.value(depth: 0)
        self.skipSpace()
        guard self.next == nil else { throw self.error(.trailingBytes) }
        return value
    }

    private var next: UInt8? { self.offset < self.bytes.count ? self.bytes[self.offset] : nil }

    private func error(_ kind: JSONError.Kind) -> JSONError {
        JSONError(kind: self.offset >= self.bytes.count && kind != .noValue ? .endOfText : kind, offset: self.offset)
    }

    private mutating func skipSpace() {
        while let byte = self.next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { self.offset += 1 }
    }

    /// Takes a byte after white space, if it is this one.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        self.skipSpace()
        guard self.next == UInt8(ascii: character) else { return false }
        self.offset += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= 512 else { throw self.error(.tooDeep) }
        self.skipSpace()
        guard let byte = self.next else { throw self.error(.noValue) }
        switch byte {
        case UInt8(ascii: "{"): return try self.object(depth: depth)
        case UInt8(ascii: "["): return try self.array(depth: depth)
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try self.number()
        default: throw self.error(.noValue)
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard self.bytes[self.offset...].starts(with: word.utf8) else { throw self.error(.noValue) }
        self.offset += word.utf8.count
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        self.offset += 1
        var values: [JSONValue] = []
        if self.take("]") { return .array(values) }
        while true {
            values.append(try self.value(depth: depth + 1))
            if self.take("]") { return .array(values) }
            guard self.take(",") else { throw self.error(.invalidStructure) }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        self.offset += 1
        var members: [JSONValue.Member] = []
        if self.take("}") { return .object(members) }
        while true {
            self.skipSpace()
            guard self.next == UInt8(ascii: "\"") else { throw self.error(.invalidStructure) }
            let name = try self.string()
            guard self.take(":") else { throw self.error(.invalidStructure) }
            members.append(JSONValue.Member(name, try self.value(depth: depth + 1)))
            if self.take("}") { return .object(members) }
            guard self.take(",") else { throw self.error(.invalidStructure) }
        }
    }

    // MARK: - Numbers

    private mutating func digits() -> Bool {
        let start = self.offset
        while let byte = self.next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.offset += 1 }
        return self.offset > start
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = self.offset
        var isWhole = true
        if self.next == UInt8(ascii: "-") { self.offset += 1 }
        if self.next == UInt8(ascii: "0") {
            self.offset += 1
        } else if !self.digits() {
            throw self.error(.invalidNumber)
        }
        if self.next == UInt8(ascii: ".") {
            isWhole = false
            self.offset += 1
            guard self.digits() else { throw self.error(.invalidNumber) }
        }
        if let byte = self.next, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isWhole = false
            self.offset += 1
            if let sign = self.next, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { self.offset += 1 }
            guard self.digits() else { throw self.error(.invalidNumber) }
        }
        if let byte = self.next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            throw self.error(.invalidNumber)
        }
        let text = String(decoding: self.bytes[start..<self.offset], as: UTF8.self)
        if isWhole, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            throw JSONError(kind: .invalidNumber, offset: start)
        }
        return .number(number)
    }

    // MARK: - Strings

    private mutating func string() throws(JSONError) -> String {
        self.offset += 1
        var text: [UInt8] = []
        let start = self.offset
        while let byte = self.next {
            switch byte {
            case UInt8(ascii: "\""):
                self.offset += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw JSONError(kind: .invalidString, offset: start)
                }
                return string
            case UInt8(ascii: "\\"):
                self.offset += 1
                text += Array(String(try self.escape()).utf8)
            case 0..<0x20: throw self.error(.invalidString)
            default:
                text.append(byte)
                self.offset += 1
            }
        }
        throw self.error(.endOfText)
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = self.next else { throw self.error(.endOfText) }
        self.offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try self.unicodeEscape()
        default:
            self.offset -= 1
            throw self.error(.invalidEscape)
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let start = self.offset - 2
        let first = try self.hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, self.bytes[self.offset...].starts(with: [0x5C, 0x75]) else {
            throw JSONError(kind: .loneSurrogate, offset: start)
        }
        self.offset += 2
        let second = try self.hexadecimal()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw JSONError(kind: .loneSurrogate, offset: start) }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONError) -> UInt32 {
        let digits = self.bytes[self.offset...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw self.error(.invalidEscape) }
        self.offset += 4
        return value
    }
}

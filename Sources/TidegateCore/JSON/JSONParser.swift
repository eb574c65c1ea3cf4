/// Reads a text of JSON; besides the text and the value it takes 4 bytes for each array and object.
struct JSONParser {
    let bytes: [UInt8]
    let mostNodes: Int
    private(set) var offset = 0
    /// How many values and names there are so far.
    private(set) var nodes = 0
    /// How many commas each array and object has, in the order of their opening brackets.
    private(set) var commas: [Int32] = []
    /// How many of them have been opened.
    private(set) var opened = 0

    mutating func parse() throws(JSONError) -> JSONValue {
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.offset = 3 }
        self.commas = self.countCommas()
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
        while let byte = self.next, byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            self.offset += 1
        }
    }

    // Arrays that grow would take up to three times their size; each is made with its own instead. A text that is not
    // JSON gives wrong numbers, which do no harm.
    private func countCommas() -> [Int32] {
        var (counts, open): ([Int32], [Int]) = ([], [])
        var position = self.offset
        while position < self.bytes.count {
            switch self.bytes[position] {
            case UInt8(ascii: "\""): position = self.endOfString(from: position + 1)
            case UInt8(ascii: ","): if let last = open.last { counts[last] += 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): _ = open.popLast()
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                guard counts.count < self.mostNodes, open.count <= 512 else { return counts }
                open.append(counts.count)
                counts.append(0)
            default: break
            }
            position += 1
        }
        // A copy that has room for no more.
        return counts.map(\.self)
    }

    // The position of the closing quote of a string; the end of the text for a string without one.
    private func endOfString(from start: Int) -> Int {
        var position = start
        while position < self.bytes.count, self.bytes[position] != UInt8(ascii: "\"") {
            position += self.bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position, self.bytes.count)
    }

    // How many elements or members the array or object that begins here has.
    private mutating func open() -> Int {
        self.offset += 1
        defer { self.opened += 1 }
        return self.opened < self.commas.count ? min(Int(self.commas[self.opened]) + 1, self.mostNodes - self.nodes) : 0
    }

    private mutating func countNode() throws(JSONError) {
        guard self.nodes < self.mostNodes else {
            throw JSONError(kind: .tooManyNodes(limit: self.mostNodes), offset: self.offset)
        }
        self.nodes += 1
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
        try self.countNode()
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
        let count = self.open()
        var values: [JSONValue] = []
        if self.take("]") { return .array(values) }
        values.reserveCapacity(count)
        while true {
            values.append(try self.value(depth: depth + 1))
            if self.take("]") { return .array(values) }
            guard self.take(",") else { throw self.error(.invalidStructure) }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        let count = self.open()
        var members: [JSONValue.Member] = []
        if self.take("}") { return .object(members) }
        members.reserveCapacity(count)
        while true {
            self.skipSpace()
            guard self.next == UInt8(ascii: "\"") else { throw self.error(.invalidStructure) }
            try self.countNode()
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
        // Eighteen digits cannot overflow, and nearly every number has fewer.
        if isWhole, self.offset - start <= 18 {
            let digits = self.bytes[start..<self.offset].drop { $0 == UInt8(ascii: "-") }
            let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
            return .integer(digits.startIndex > start ? -number : number)
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
        let start = self.offset
        var text: [UInt8] = []
        var isASCII = true
        // The start of the bytes that are not in `text` yet.
        var rest = start
        while let byte = self.next {
            switch byte {
            case UInt8(ascii: "\""):
                let last = self.bytes[rest..<self.offset]
                self.offset += 1
                // A string without an escape is made directly from the bytes; ASCII needs no validation.
                if rest == start, isASCII { return String(decoding: last, as: UTF8.self) }
                if rest > start { text += last }
                guard
                    let string = rest > start
                        ? String(validating: text, as: UTF8.self) : String(validating: last, as: UTF8.self)
                else { throw JSONError(kind: .invalidString, offset: start) }
                return string
            case UInt8(ascii: "\\"):
                if rest == start { text.reserveCapacity(self.endOfString(from: self.offset) - start) }
                text += self.bytes[rest..<self.offset]
                self.offset += 1
                text += String(try self.escape()).utf8
                rest = self.offset
            case 0..<0x20: throw self.error(.invalidString)
            default:
                isASCII = isASCII && byte < 0x80
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

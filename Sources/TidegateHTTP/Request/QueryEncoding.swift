public import FoundationEssentials

/// How parameters become a query string: AFNetworking's rules, and Alamofire's options.
///
/// Names are sorted by UTF-16 code unit at every level. A member of a structure or dictionary is `a[b]`, and an element
/// of an array `a[]`. Each element of a `Set` repeats `a`, sorted. An encoded nil is the name without `=`. Everything
/// except letters, digits and `-._~?/` is percent-encoded.
public struct QueryEncoding: Sendable {
    /// The name of an array's element.
    public enum ArrayStyle: Sendable {
        /// `a[]`
        case brackets
        /// `a`
        case noBrackets
        /// `a[0]`
        case indexInBrackets
        /// The closure's result for the name and the index.
        case custom(@Sendable (String, Int) -> String)

        func name(_ name: String, _ index: Int) -> String {
            switch self {
            case .brackets: name + "[]"
            case .noBrackets: name
            case .indexInBrackets: name + "[" + String(index) + "]"
            case .custom(let closure): closure(name, index)
            }
        }
    }

    /// The format of a boolean.
    public enum BoolStyle: Sendable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal

        func text(of value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// The name of a nested member.
    public enum KeyPathStyle: Sendable {
        /// `a[b]`
        case brackets
        /// `a.b`
        case dots
        /// The closure's result for the outer and the inner name.
        case custom(@Sendable (String, String) -> String)

        func name(_ outer: String, _ inner: String) -> String {
            switch self {
            case .brackets: outer + "[" + inner + "]"
            case .dots: outer + "." + inner
            case .custom(let closure): closure(outer, inner)
            }
        }
    }

    /// The format of a date.
    public enum DateStyle: Sendable {
        /// The encoding of `Date` itself: seconds since 2001.
        case deferred
        /// Seconds since 1970, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970, with a fraction.
        case millisecondsSince1970
        /// `2001-01-01T00:02:03Z` (RFC 3339).
        case iso8601
        /// The closure's result for the date.
        case custom(@Sendable (Date) -> String)

        func text(of date: Date) -> String {
            switch self {
            case .deferred: String(date.timeIntervalSinceReferenceDate)
            case .secondsSince1970: String(date.timeIntervalSince1970)
            case .millisecondsSince1970: String(date.timeIntervalSince1970 * 1000)
            case .iso8601: date.ISO8601Format()
            case .custom(let closure): closure(date)
            }
        }
    }

    /// The format of bytes.
    public enum DataStyle: Sendable {
        /// As base64 (RFC 4648 section 4).
        case base64
        /// As an array of numbers, which is how `Data` encodes itself.
        case deferred
        /// The closure's result for the bytes.
        case custom(@Sendable (Data) -> String)
    }

    /// The names of array elements.
    public var arrays = ArrayStyle.brackets
    /// The format of booleans.
    public var bools = BoolStyle.numeric
    /// The names of nested members.
    public var keyPaths = KeyPathStyle.brackets
    /// The format of dates.
    public var dates = DateStyle.deferred
    /// The format of bytes.
    public var data = DataStyle.base64
    /// True writes a space as `+` instead of `%20`.
    public var writesSpacesAsPlus = false

    /// AFNetworking's rules.
    public init() {}

    /// The query for parameters, which must have names.
    ///
    /// - Throws: ``RequestSerializationError``.
    public func query(of parameters: any Encodable) throws(RequestSerializationError) -> String {
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1024)
        try self.box(of: parameters).visit(self, below: nil) { pair in
            let value = self.text(of: pair)
            // A byte becomes at most three, and each pair has two additional characters.
            let limit = 3 * (pair.name.utf8.count + (value?.utf8.count ?? 0)) + 2
            if limit > piece.count { piece = [UInt8](repeating: 0, count: limit) }
            var bytes = piece.mutableSpan
            var end = 0
            if !text.isEmpty {
                bytes[0] = UInt8(ascii: "&")
                end = 1
            }
            self.escape(pair.name.utf8Span.span, to: &bytes, &end)
            if let value {
                bytes[end] = UInt8(ascii: "=")
                end += 1
                self.escape(value.utf8Span.span, to: &bytes, &end)
            }
            text += piece[..<end]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The query with its names and values percent-encoded in a charset.
    func query(of parameters: any Encodable, in charset: Charset) throws(RequestSerializationError) -> String {
        guard [.ascii, .latin1, .windows1252].contains(charset) else { return try self.query(of: parameters) }
        return try self.pairs(of: parameters).map { pair throws(RequestSerializationError) in
            let texts = [pair.name, self.text(of: pair)].compactMap(\.self)
            let sides = texts.compactMap { charset.bytes(of: $0).map(self.escaped) }
            guard sides.count == texts.count else { throw .inexpressible(path: pair.name, charset: charset) }
            return sides.joined(separator: "=")
        }.joined(separator: "&")
    }

    private func escaped(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: 3 * bytes.count)
        var end = 0
        var span = text.mutableSpan
        self.escape(bytes.span, to: &span, &end)
        return String(decoding: text[..<end], as: UTF8.self)
    }

    /// The names and values in the query's order, without percent-encoding.
    func pairs(of parameters: any Encodable) throws(RequestSerializationError) -> [QueryPair] {
        var pairs: [QueryPair] = []
        try self.box(of: parameters).visit(self, below: nil) { pairs.append($0) }
        return pairs
    }

    private func box(of parameters: any Encodable) throws(RequestSerializationError) -> QueryBox {
        let box = try Result { try QueryBox(parameters, self) }
            .mapError { RequestSerializationError($0, type: type(of: parameters), format: "a query") }.get()
        guard box.isObject else { throw .notAnObject(type: "\(type(of: parameters))") }
        return box
    }

    /// The text of the value; nil for a name without one.
    func text(of pair: QueryPair) -> String? {
        switch pair.value {
        case .none: return nil
        case .text(let text): return text
        case .data(let data):
            if case .custom(let closure) = self.data { return closure(data) }
            return data.base64EncodedString()
        }
    }

    private func escape(_ bytes: Span<UInt8>, to text: inout MutableSpan<UInt8>, _ end: inout Int) {
        for index in bytes.indices {
            let byte = bytes[index]
            if QueryEncoding.isWritten(byte) {
                text[end] = byte
            } else if byte == UInt8(ascii: " "), self.writesSpacesAsPlus {
                text[end] = UInt8(ascii: "+")
            } else {
                text[end] = UInt8(ascii: "%")
                text[end + 1] = QueryEncoding.digit(byte >> 4)
                text[end + 2] = QueryEncoding.digit(byte & 15)
                end += 2
            }
            end += 1
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// True for a byte that is written unescaped: a letter, a digit or one of `-._~?/`.
    private static func isWritten(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            // `-`, `.`, `/` and the digits are adjacent.
            UInt8(ascii: "-")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "?"):
            true
        default: false
        }
    }
}

/// A JSON value (RFC 8259) whose members keep their order.
public enum JSONValue: Sendable, Hashable, CustomStringConvertible {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A number; values that are not finite become `null`.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, its members in order.
    case object([Member])

    /// A name with its value.
    public struct Member: Sendable, Hashable {
        /// The member's name.
        public var name: String
        /// The member's value.
        public var value: JSONValue

        /// A member of an object.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// A string, or `null` for nil.
    package static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// A whole number, or `null` for nil.
    package static func optional(_ number: (some BinaryInteger)?) -> JSONValue {
        number.map { .integer(Int64(clamping: $0)) } ?? .null
    }

    /// A number, or `null` for nil.
    package static func optional(_ number: Double?) -> JSONValue { number.map { .number($0) } ?? .null }

    /// A duration in seconds, to the microsecond; `null` for nil.
    package static func seconds(_ duration: Duration?) -> JSONValue {
        .optional(duration.map { ($0.inSeconds * 1_000_000).rounded() / 1_000_000 })
    }

    /// A whole number of any type.
    package static func whole(_ number: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: number)) }

    /// Texts in an array.
    package static func texts(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }

    /// The value of an object's first member with this name; nil without one, or if the value is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text; nil if the value is not a string.
    package var text: String? { if case .string(let text) = self { text } else { nil } }

    /// The whole number; nil if the value is not one.
    package var number: Int? { if case .integer(let number) = self { Int(clamping: number) } else { nil } }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONValue] { if case .array(let values) = self { values } else { [] } }

    /// The value without members that are `null` and without `null` in arrays, at every level.
    public var withoutNulls: JSONValue {
        switch self {
        case .null, .bool, .integer, .number, .string: self
        case .array(let values): .array(values.filter { $0 != .null }.map(\.withoutNulls))
        case .object(let members):
            .object(members.filter { $0.value != .null }.map { Member($0.name, $0.value.withoutNulls) })
        }
    }

    /// The value with other strings; the names of members stay.
    package func mappingTexts(_ body: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(body(text))
        case .array(let values): .array(values.map { $0.mappingTexts(body) })
        case .object(let members): .object(members.map { Member($0.name, $0.value.mappingTexts(body)) })
        case .null, .bool, .integer, .number: self
        }
    }

    /// An object with one more member at its end; any other value unchanged.
    package func adding(_ member: Member) -> JSONValue { self.adding([member]) }

    /// The object with further members at its end; any other value unchanged.
    package func adding(_ more: [Member]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members + more)
    }

    // MARK: Text (RFC 8259)

    /// Parses a text in UTF-8 (RFC 8259), a byte order mark before it allowed; 512 levels deep at most.
    ///
    /// A whole number beyond 64 bits becomes a double. More than `mostNodes` values and names of members are refused.
    /// While a text is parsed, and afterwards, its value takes at most twice the text and 64 bytes a node.
    public init(parsing bytes: some Collection<UInt8>, mostNodes: Int = .max) throws(JSONError) {
        var parser = JSONParser(bytes: Array(bytes), mostNodes: mostNodes)
        self = try parser.parse()
    }

    /// The value on one line, without spaces; control characters are written as escapes.
    public var description: String {
        var text = ""
        self.write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += JSONValue.text(of: value)
        case .string(let value): JSONValue.quote(value, to: &text)
        case .array(let values): JSONValue.write(values, between: "[", "]", to: &text) { $0.write(to: &$1) }
        case .object(let members):
            JSONValue.write(members, between: "{", "}", to: &text) {
                JSONValue.quote($0.name, to: &$1)
                $1 += ":"
                $0.value.write(to: &$1)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], between open: String, _ close: String, to text: inout String,
        each: (Element, inout String) -> Void
    ) {
        text += open
        for (position, element) in elements.enumerated() {
            if position > 0 { text += "," }
            each(element, &text)
        }
        text += close
    }

    private static func text(of number: Double) -> String {
        guard number.isFinite else { return "null" }
        return number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
    }

    private static func quote(_ value: String, to text: inout String) {
        text += "\""
        defer { text += "\"" }
        // Nearly every string stands for itself.
        if value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            return text += value
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // Also what JSON would allow: a terminal or a log shows the text unescaped.
            case _ where scalar.controlsTerminal:
                text += "\\u" + String(scalar.value, radix: 16).padded(to: 4)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
    /// An object whose members stand in the order written.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// `null`.
    public init(nilLiteral: ()) { self = .null }
}

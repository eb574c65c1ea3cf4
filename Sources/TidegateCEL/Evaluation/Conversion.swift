internal import TidegateCore

// The functions that convert values between types.
extension Call {
    /// The result of a conversion; nil if it does not accept this type.
    func conversion(_ budget: inout Budget) throws(CELError) -> Value? {
        let value = self.arguments[0]
        if case .string(let text) = value { try budget.spend(bytes: text.count) }
        switch self.function {
        case .dyn: return value
        case .type: return .type(value.type)
        case .bool: return try Self.bool(value)
        case .bytes:
            if case .string(let text) = value { return .bytes(text) }
            if case .bytes = value { return value }
            return nil
        case .double: return try Self.double(value)
        case .int:
            if case .timestamp(let moment) = value { return .int(moment.seconds) }
            return try Self.whole(value, "int").map(Value.int)
        case .uint: return try Self.whole(value, "uint").map(Value.uint)
        case .string: return try Self.string(value)
        case .timestamp: return try Self.timestamp(value)
        case .duration: return try Self.duration(value)
        default: return nil
        }
    }

    private static func failure(_ text: [UInt8], _ wanted: String) -> CELError {
        // A server's text may be long.
        let shown = String(decoding: text.prefix(40), as: UTF8.self) + (text.count > 40 ? "…" : "")
        return CELError("\"\(shown)\" is not a valid \(wanted)")
    }

    private static func bool(_ value: Value) throws(CELError) -> Value? {
        switch value {
        case .bool: return value
        case .string(let text):
            switch String(decoding: text, as: UTF8.self) {
            case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
            case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
            default: throw self.failure(text, "bool")
            }
        default: return nil
        }
    }

    private static func double(_ value: Value) throws(CELError) -> Value? {
        switch value {
        case .double: return value
        case .int(let number): return .double(Double(number))
        case .uint(let number): return .double(Double(number))
        case .string(let text):
            guard let number = Double(String(decoding: text, as: UTF8.self)) else { throw self.failure(text, "double") }
            return .double(number)
        default: return nil
        }
    }

    /// A whole number of the type named `name`.
    private static func whole<Number: FixedWidthInteger>(_ value: Value, _ name: String) throws(CELError) -> Number? {
        let number: Number?
        let text: String
        switch value {
        case .int(let integer): (number, text) = (Number(exactly: integer), "\(integer)")
        case .uint(let integer): (number, text) = (Number(exactly: integer), "\(integer)")
        case .double(let real): (number, text) = (Number(exactly: real.rounded(.towardZero)), "\(real)")
        case .string(let bytes):
            guard let number = Number(String(decoding: bytes, as: UTF8.self)) else { throw self.failure(bytes, name) }
            return number
        default: return nil
        }
        guard let number else { throw CELError("\(text) is out of the range of \(name)") }
        return number
    }

    private static func string(_ value: Value) throws(CELError) -> Value? {
        let text: String
        switch value {
        case .string: return value
        case .bool(let truth): text = truth ? "true" : "false"
        case .int(let number): text = String(number)
        case .uint(let number): text = String(number)
        case .double(let number):
            let digits = NumberText.float(number)
            text = digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits
        case .bytes(let bytes):
            guard let valid = String(validating: bytes, as: UTF8.self) else { throw CELError("bytes are not UTF-8") }
            text = valid
        case .timestamp(let moment): text = moment.text
        case .duration(let nanoseconds): text = self.seconds(nanoseconds)
        case .null, .type, .list, .map: return nil
        }
        return .string(Array(text.utf8))
    }

    private static func seconds(_ nanoseconds: Int64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let sign = nanoseconds < 0 ? "-" : ""
        guard rest != 0 else { return "\(whole)s" }
        var digits = String(rest.magnitude).padded(to: 9)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(sign)\(whole.magnitude).\(digits)s"
    }

    private static func timestamp(_ value: Value) throws(CELError) -> Value? {
        switch value {
        case .timestamp: return value
        case .int(let seconds):
            guard let moment = Timestamp(seconds: seconds) else {
                throw CELError("a timestamp is not in the years 1 to 9999")
            }
            return .timestamp(moment)
        case .string(let text):
            guard let moment = Timestamp(String(decoding: text, as: UTF8.self)) else {
                throw self.failure(text, "timestamp (such as 2026-11-20T23:14:22Z)")
            }
            return .timestamp(moment)
        default: return nil
        }
    }

    private static func duration(_ value: Value) throws(CELError) -> Value? {
        switch value {
        case .duration: return value
        case .string(let text):
            guard let nanoseconds = self.nanoseconds(String(decoding: text, as: UTF8.self)) else {
                throw self.failure(text, "duration (such as 1h30m or 1.5s)")
            }
            return .duration(nanoseconds)
        default: return nil
        }
    }

    private static let units: [(name: String, nanoseconds: Double)] = [
        ("ns", 1), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12),
    ]

    // Uses Go's syntax for durations: numbers with units, in any order.
    private static func nanoseconds(_ text: String) -> Int64? {
        let sign: Double = text.hasPrefix("-") ? -1 : 1
        var rest = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : Substring(text)
        guard rest != "0" else { return 0 }
        guard !rest.isEmpty else { return nil }
        var sum = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { $0 == "." || $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0 != "." && !($0.isASCII && $0.isNumber) }
            rest = rest.dropFirst(unit.count)
            guard let number = Double(digits), let scale = Self.units.first(where: { $0.name == unit })?.nanoseconds
            else { return nil }
            sum += number * scale
        }
        return Int64(exactly: (sum * sign).rounded())
    }
}

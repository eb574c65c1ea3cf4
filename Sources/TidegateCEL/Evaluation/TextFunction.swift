internal import TidegateCore

/// The functions of strings, and `size()`.
enum TextFunction {
    /// Patterns that are made while an expression is evaluated.
    private static let longestPattern = 1024

    /// The result; nil if the function does not take values of these types.
    static func result(
        _ function: Function, _ values: [Value], _ budget: inout Budget
    ) throws(CELError) -> Value? {
        if function == .size { return try self.size(values[0], &budget).map { .int(Int64($0)) } }
        guard case .string(let text) = values[0], case .string(let part) = values[1] else { return nil }
        try budget.spend(bytes: text.count + part.count)
        switch function {
        case .startsWith: return .bool(text.starts(with: part))
        case .endsWith: return .bool(text.suffix(part.count) == part[...])
        case .contains: return .bool(text.contains(part))
        default:
            guard part.count <= Self.longestPattern else {
                throw CELError("a pattern is longer than \(Self.longestPattern) bytes")
            }
            // Its automaton is built anew each time.
            try budget.spend(part.count * 10)
            let expression = Result { try RegularExpression(String(decoding: part, as: UTF8.self)) }
            return .bool(try expression.mapError { CELError("\($0)") }.get().matches(text))
        }
    }

    // Strings are counted in code points.
    private static func size(_ value: Value, _ budget: inout Budget) throws(CELError) -> Int? {
        switch value {
        case .string(let text):
            try budget.spend(bytes: text.count)
            return text.count { $0 & 0xC0 != 0x80 }
        case .bytes(let bytes): return bytes.count
        case .list(let elements): return elements.count
        case .map(let members): return members.count
        default: return nil
        }
    }
}

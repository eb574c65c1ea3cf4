internal import CRE2
internal import Synchronization

/// A regular expression over bytes of UTF-8, as Go and Prometheus have them (RE2): a search takes time in proportion to
/// the text, whatever the expression is.
package final class RegularExpression: Sendable {
    /// The text that it was made from.
    package let pattern: String
    private let code: Mutex<CompiledExpression>

    /// Compiles a pattern.
    ///
    /// - Throws: ``RegularExpressionError``, which quotes the pattern and says what is wrong.
    package init(_ pattern: String) throws(RegularExpressionError) {
        self.pattern = pattern
        self.code = Mutex(try CompiledExpression.compile(pattern))
    }

    /// The first match in `bytes`; nil if there is none.
    package func firstMatch(in bytes: [UInt8]) -> RegularExpressionMatch? {
        self.code.withLock { $0.firstMatch(in: bytes) }
    }

    /// True if `bytes` contain a match.
    package func matches(_ bytes: [UInt8]) -> Bool { self.code.withLock { $0.matches(bytes) } }
}

extension RegularExpression: Hashable {
    package static func == (left: RegularExpression, right: RegularExpression) -> Bool {
        left.pattern == right.pattern
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.pattern) }
}

/// Why a text is no regular expression.
package struct RegularExpressionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One clause without a final full stop, which quotes the pattern.
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The compiled form.
struct CompiledExpression: ~Copyable {
    private let code: OpaquePointer
    /// The groups that have names, with their numbers.
    private let names: [String: Int]

    private init(_ code: OpaquePointer) {
        self.code = code
        var names: [String: Int] = [:]
        for number in 0...Int(max(0, tg_re2_groups(code))) {
            if let name = tg_re2_group_name(code, Int32(number)) { names[String(cString: name)] = number }
        }
        self.names = names
    }

    deinit { tg_re2_free(self.code) }

    static func compile(_ pattern: String) throws(RegularExpressionError) -> CompiledExpression {
        guard let code = tg_re2_new(pattern, pattern.utf8.count) else {
            throw RegularExpressionError("out of memory")
        }
        guard let error = tg_re2_error(code) else { return CompiledExpression(code) }
        defer { tg_re2_free(code) }
        throw RegularExpressionError("\"\(pattern)\" is no regular expression: \(String(cString: error))")
    }

    func matches(_ bytes: [UInt8]) -> Bool {
        Self.withText(bytes) { text, count in tg_re2_search(self.code, text, count, nil, 0) == 1 }
    }

    func firstMatch(in bytes: [UInt8]) -> RegularExpressionMatch? {
        let count = Int(tg_re2_groups(self.code)) + 1
        var bounds = [Int](repeating: -1, count: 2 * count)
        let isFound = Self.withText(bytes) { text, length in
            bounds.withUnsafeMutableBytes { places in
                tg_re2_search(
                    self.code, text, length, places.baseAddress?.assumingMemoryBound(to: Int.self), Int32(count))
            } == 1
        }
        guard isFound else { return nil }
        let groups = (0..<count).map { number in
            bounds[2 * number] < 0 ? nil : Array(bytes[bounds[2 * number]..<bounds[2 * number + 1]])
        }
        return RegularExpressionMatch(groups: groups, names: self.names)
    }

    private static func withText(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>?, Int) -> Bool) -> Bool {
        bytes.withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count) }
    }
}

internal import CRE2
internal import Synchronization
package import TidegateCore

/// A regular expression over UTF-8 bytes, with the syntax of Go and Prometheus (RE2).
///
/// A search takes time proportional to the text, whatever the expression is.
package final class RegularExpression: Sendable, Hashable {
    /// The source text.
    package let pattern: String
    private let code: Mutex<CompiledExpression>

    /// Compiles a pattern.
    ///
    /// - Throws: ``TextError`` that quotes the pattern and names the problem.
    package init(_ pattern: String) throws(TextError) {
        self.pattern = pattern
        self.code = Mutex(try CompiledExpression(pattern))
    }

    /// The first match in `bytes`; nil without one.
    package func firstMatch(in bytes: [UInt8]) -> RegularExpressionMatch? {
        self.code.withLock { $0.firstMatch(in: bytes) }
    }

    /// True if `bytes` contain a match.
    package func matches(_ bytes: [UInt8]) -> Bool { self.code.withLock { $0.matches(bytes) } }

    package static func == (left: RegularExpression, right: RegularExpression) -> Bool { left.pattern == right.pattern }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.pattern) }
}

/// The compiled form, which owns the RE2 expression and never shares it.
@safe struct CompiledExpression: ~Copyable {
    private let code: OpaquePointer
    /// The numbers of the named groups.
    private let names: [String: Int]

    init(_ pattern: String) throws(TextError) {
        guard let code = unsafe tg_re2_new(pattern, pattern.utf8.count) else { throw TextError("out of memory") }
        if let error = unsafe tg_re2_error(code) {
            defer { unsafe tg_re2_free(code) }
            throw TextError("\"\(pattern)\" is not a regular expression: \(unsafe String(cString: error))")
        }
        unsafe self.code = code
        var names: [String: Int] = [:]
        for number in 0...Int(max(0, unsafe tg_re2_groups(code))) {
            if let name = unsafe tg_re2_group_name(code, Int32(number)) { names[unsafe String(cString: name)] = number }
        }
        self.names = names
    }

    deinit { unsafe tg_re2_free(self.code) }

    func matches(_ bytes: [UInt8]) -> Bool {
        unsafe Self.withText(bytes) { text, count in unsafe tg_re2_search(self.code, text, count, nil, 0) == 1 }
    }

    func firstMatch(in bytes: [UInt8]) -> RegularExpressionMatch? {
        let count = Int(unsafe tg_re2_groups(self.code)) + 1
        var bounds = [Int](repeating: -1, count: 2 * count)
        let isFound = unsafe Self.withText(bytes) { text, length in
            unsafe bounds.withUnsafeMutableBytes { places in
                unsafe tg_re2_search(
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
        unsafe bytes.withUnsafeBytes { unsafe body($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count) }
    }
}

/// The match of an expression, by group.
package struct RegularExpressionMatch: Sendable, Hashable {
    /// The whole match, then the match of each group in parentheses; nil for a group that did not take part.
    package let groups: [[UInt8]?]
    let names: [String: Int]

    /// A template with `$1`, `${1}` and `${name}` replaced by the groups' matches, like Go's `Regexp.Expand`.
    ///
    /// A group that does not exist or did not take part is empty, and `$$` is a dollar sign. The longest possible name
    /// is used, so that `$1x` means the group `1x`.
    package func expanding(_ template: String) -> [UInt8] {
        var result: [UInt8] = []
        var rest = template.utf8[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            result += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            if rest.first == UInt8(ascii: "$") {
                result.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            } else if let (name, after) = Self.reference(at: rest) {
                result += self.group(name) ?? []
                rest = after
            } else {
                // A malformed reference: the dollar sign is copied unchanged.
                result.append(UInt8(ascii: "$"))
            }
        }
        return result + rest
    }

    private func group(_ name: String) -> [UInt8]? {
        let number = Int(name) ?? self.names[name]
        return number.flatMap { self.groups.indices.contains($0) ? self.groups[$0] : nil }
    }

    // `1`, `name`, `{1}` or `{name}`, and the text after it.
    private static func reference(at text: Substring.UTF8View) -> (name: String, after: Substring.UTF8View)? {
        let isBraced = text.first == UInt8(ascii: "{")
        let inner = isBraced ? text.dropFirst() : text
        let name = inner.prefix {
            switch $0 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        var after = inner[name.endIndex...]
        guard !name.isEmpty, !isBraced || after.first == UInt8(ascii: "}") else { return nil }
        if isBraced { after = after.dropFirst() }
        return (String(decoding: name, as: UTF8.self), after)
    }
}

internal import Foundation

/// One place in a PromQL expression that names series.
struct PromQLSelector: Equatable {
    /// A condition on a label.
    struct Matcher: Equatable {
        let label: String
        let operation: String
        let value: String
    }

    /// The metric; empty if only labels select.
    let name: String
    var matchers: [Matcher] = []
    /// The range in brackets behind it.
    var range: String?
    /// Functions and aggregations around it, the outermost first.
    let calls: [String]

    /// Every selector of an expression, from left to right; the expression's own syntax is checked by promtool.
    static func all(in expr: String) -> [PromQLSelector] {
        var reader = PromQLReader(expr)
        return reader.selectors()
    }

    func has(_ label: String, _ operation: String, _ value: String) -> Bool {
        self.matchers.contains(Matcher(label: label, operation: operation, value: value))
    }
}

/// Reads selectors out of an expression.
private struct PromQLReader {
    private enum Token: Equatable {
        case word(String)
        case text(String)
        case sign(String)
    }

    private static let clauses: Set = ["by", "without", "on", "ignoring", "group_left", "group_right"]
    private static let operators: Set = ["and", "or", "unless", "bool", "offset", "atan2"]

    private let tokens: [Token]
    private var position = 0
    private var calls: [String] = []
    /// An identifier before a parenthesis: a function.
    private var caller = ""

    init(_ expr: String) {
        let pattern =
            #/
            (?<word> [A-Za-z_:$] [A-Za-z0-9_:$]* )
            | "(?<text> (?: [^"\\] | \\. )* )"
            | [0-9] [0-9A-Za-z.]*
            | [!=<>]= | [!=]~ | \S
            /#
        let parts = expr.matches(of: pattern)
        self.tokens = parts.map { part in
            if let word = part.output.word { return .word(String(word)) }
            if let text = part.output.text { return .text(String(text)) }
            return .sign(String(part.output.0))
        }
    }

    mutating func selectors() -> [PromQLSelector] {
        var found: [PromQLSelector] = []
        while let token = self.next() {
            switch token {
            case .word(let word): if let selector = self.read(word) { found.append(selector) }
            case .sign("("):
                self.calls.append(self.caller)
                self.caller = ""
            case .sign(")"): self.calls = self.calls.dropLast()
            case .sign("{"):
                self.position -= 1
                found.append(self.selector(""))
            case .sign("["): _ = self.skip(to: "]")
            case .text, .sign: break
            }
        }
        return found
    }

    private mutating func read(_ word: String) -> PromQLSelector? {
        if Self.clauses.contains(word) {
            if self.peek() == .sign("(") { _ = self.skip(to: ")") }
            return nil
        }
        if Self.operators.contains(word) { return nil }
        if self.peek() == .sign("(") || self.peek() == .word("by") || self.peek() == .word("without") {
            self.caller = word
            return nil
        }
        return self.selector(word)
    }

    private mutating func selector(_ name: String) -> PromQLSelector {
        var selector = PromQLSelector(name: name, calls: self.calls)
        if self.peek() == .sign("{") { selector.matchers = self.matchers() }
        if self.peek() == .sign("[") { selector.range = self.skip(to: "]") }
        return selector
    }

    private mutating func matchers() -> [PromQLSelector.Matcher] {
        var found: [PromQLSelector.Matcher] = []
        while let token = self.next(), token != .sign("}") {
            guard case .word(let label) = token, case .sign(let operation) = self.next(),
                case .text(let value) = self.next()
            else { continue }
            found.append(PromQLSelector.Matcher(label: label, operation: operation, value: value))
        }
        return found
    }

    private func peek() -> Token? { self.position < self.tokens.count ? self.tokens[self.position] : nil }

    private mutating func next() -> Token? {
        defer { self.position += 1 }
        return self.peek()
    }

    /// What stands between here and the closing sign, without both.
    private mutating func skip(to end: String) -> String {
        var between = ""
        while let token = self.next(), token != .sign(end) {
            switch token {
            case .word(let word), .text(let word): between += word
            case .sign(let sign): between += sign == "(" || sign == "[" ? "" : sign
            }
        }
        return between
    }
}

/// Parses an expression (the grammar of the CEL language definition), and expands macros.
struct Parser {
    private let tokens: [Token]
    private var position = 0
    private var depth = 0

    /// Each bracket and each unary operator adds a level.
    private static let deepest = 100
    /// The binary operators, in order of increasing precedence.
    private static let operators: [[String]] = [
        ["<", "<=", ">", ">=", "==", "!=", "in"], ["+", "-"], ["*", "/", "%"],
    ]

    /// Parses a complete text as one expression.
    static func parse(_ text: String) throws(CELError) -> SyntaxNode {
        var parser = Parser(tokens: try Lexer.tokens(of: text))
        let node = try parser.expression()
        guard parser.token.kind == .end else { throw parser.unexpected("an operator or the end") }
        return node
    }

    private var token: Token { self.tokens[self.position] }

    private func unexpected(_ wanted: String) -> CELError {
        CELError("\(wanted) is expected instead of \(self.token.text)", at: self.token.offset)
    }

    private mutating func takes(_ symbol: String) -> Bool {
        guard self.isAt(symbol) else { return false }
        self.position += 1
        return true
    }

    private mutating func expect(_ symbol: String) throws(CELError) {
        guard self.takes(symbol) else { throw self.unexpected("\"\(symbol)\"") }
    }

    // MARK: - Operators

    private mutating func expression() throws(CELError) -> SyntaxNode {
        self.depth += 1
        defer { self.depth -= 1 }
        guard self.depth <= Self.deepest else {
            throw CELError("the expression is nested more than \(Self.deepest) deep", at: self.token.offset)
        }
        let condition = try self.alternatives()
        let offset = self.token.offset
        guard self.takes("?") else { return condition }
        let first = try self.alternatives()
        try self.expect(":")
        let second = try self.expression()
        return try SyntaxNode(.conditional(condition, first, second), at: offset, over: [condition, first, second])
    }

    private mutating func alternatives() throws(CELError) -> SyntaxNode {
        let offset = self.token.offset
        var nodes = [try self.conditions()]
        while self.takes("||") { nodes.append(try self.conditions()) }
        return nodes.count == 1 ? nodes[0] : try SyntaxNode(.any(nodes), at: offset, over: nodes)
    }

    private mutating func conditions() throws(CELError) -> SyntaxNode {
        let offset = self.token.offset
        var nodes = [try self.binary(0)]
        while self.takes("&&") { nodes.append(try self.binary(0)) }
        return nodes.count == 1 ? nodes[0] : try SyntaxNode(.every(nodes), at: offset, over: nodes)
    }

    private mutating func binary(_ level: Int) throws(CELError) -> SyntaxNode {
        guard level < Self.operators.count else { return try self.unary() }
        var node = try self.binary(level + 1)
        while let symbol = Self.operators[level].first(where: { self.isAt($0) }) {
            let offset = self.token.offset
            self.position += 1
            let right = try self.binary(level + 1)
            node = try SyntaxNode(.call(symbol, receiver: nil, [node, right]), at: offset, over: [node, right])
        }
        return node
    }

    private func isAt(_ symbol: String) -> Bool {
        self.token.kind == .symbol(symbol) || self.token.kind == .keyword(symbol)
    }

    private mutating func unary() throws(CELError) -> SyntaxNode {
        let offset = self.token.offset
        guard let symbol = ["!", "-"].first(where: { self.isAt($0) }) else {
            return try self.members(of: self.primary())
        }
        var count = 0
        while self.takes(symbol) { count += 1 }
        // The smallest integer has no positive counterpart.
        if symbol == "-", case .int(let digits) = self.token.kind {
            let literal = Token(kind: .int("-" + digits), offset: offset)
            self.position += 1
            count -= 1
            return try self.applied(symbol, count, to: self.members(of: self.number(literal)), at: offset)
        }
        return try self.applied(symbol, count, to: self.members(of: self.primary()), at: offset)
    }

    // Every operator is applied: a pair does not change the value, but checks the operand's type.
    private func applied(
        _ symbol: String, _ count: Int, to node: SyntaxNode, at offset: Int
    ) throws(CELError) -> SyntaxNode {
        var node = node
        for _ in 0..<count {
            node = try SyntaxNode(.call(symbol, receiver: nil, [node]), at: offset, over: [node])
        }
        return node
    }

    // MARK: - Members

    private mutating func members(of first: SyntaxNode) throws(CELError) -> SyntaxNode {
        var node = first
        while true {
            let offset = self.token.offset
            if self.takes("[") {
                let index = try self.expression()
                try self.expect("]")
                node = try SyntaxNode(.call("[]", receiver: nil, [node, index]), at: offset, over: [node, index])
            } else if self.takes(".") {
                guard case .identifier(let name) = self.token.kind else { throw self.unexpected("a name") }
                self.position += 1
                guard self.takes("(") else {
                    node = try SyntaxNode(.select(node, field: name, isTest: false), at: offset, over: [node])
                    continue
                }
                let arguments = try self.list(until: ")", allowsTrailingComma: false)
                node = try self.call(name, node, arguments, at: offset)
            } else {
                return node
            }
        }
    }

    private mutating func primary() throws(CELError) -> SyntaxNode {
        let token = self.token
        switch token.kind {
        case .symbol("("):
            self.position += 1
            let node = try self.expression()
            try self.expect(")")
            return node
        case .symbol("["):
            self.position += 1
            let elements = try self.list(until: "]", allowsTrailingComma: true)
            return try SyntaxNode(.list(elements), at: token.offset, over: elements)
        case .symbol("{"):
            self.position += 1
            return try self.map(at: token.offset)
        case .symbol("."), .identifier:
            return try self.nameOrCall()
        case .keyword(let name) where name != "in":
            throw CELError("\"\(name)\" is a reserved word", at: token.offset)
        default:
            guard case .symbol = token.kind else {
                if token.kind == .end || token.kind == .keyword("in") { throw self.unexpected("a value") }
                self.position += 1
                return try self.number(token)
            }
            throw self.unexpected("a value")
        }
    }

    private mutating func nameOrCall() throws(CELError) -> SyntaxNode {
        // A leading dot refers to the outermost scope.
        _ = self.takes(".")
        let token = self.token
        guard case .identifier(let name) = token.kind else { throw self.unexpected("a name") }
        self.position += 1
        switch name {
        case "true", "false": return try SyntaxNode(.literal(.bool(name == "true")), at: token.offset)
        case "null": return try SyntaxNode(.literal(.null), at: token.offset)
        default: break
        }
        guard self.takes("(") else { return try SyntaxNode(.name(name), at: token.offset) }
        let arguments = try self.list(until: ")", allowsTrailingComma: false)
        return try self.call(name, nil, arguments, at: token.offset)
    }

    private mutating func list(until end: String, allowsTrailingComma: Bool) throws(CELError) -> [SyntaxNode] {
        var nodes: [SyntaxNode] = []
        while !self.takes(end) {
            if !nodes.isEmpty {
                try self.expect(",")
                if allowsTrailingComma, self.takes(end) { break }
            }
            nodes.append(try self.expression())
        }
        return nodes
    }

    private mutating func map(at offset: Int) throws(CELError) -> SyntaxNode {
        var entries: [(key: SyntaxNode, value: SyntaxNode)] = []
        while !self.takes("}") {
            if !entries.isEmpty {
                try self.expect(",")
                if self.takes("}") { break }
            }
            let key = try self.expression()
            try self.expect(":")
            entries.append((key, try self.expression()))
        }
        return try SyntaxNode(.map(entries), at: offset, over: entries.flatMap { [$0.key, $0.value] })
    }

    private func number(_ token: Token) throws(CELError) -> SyntaxNode {
        let value: Value?
        switch token.kind {
        case .int(let digits): value = Self.integer(digits).map(Value.int)
        case .uint(let digits): value = Self.integer(digits).map(Value.uint)
        case .double(let number): value = .double(number)
        case .string(let text): value = .string(text)
        case .bytes(let bytes): value = .bytes(bytes)
        case .identifier, .keyword, .symbol, .end: value = nil
        }
        guard let value else { throw CELError("\(token.text) does not fit in 64 bits", at: token.offset) }
        return try SyntaxNode(.literal(value), at: token.offset)
    }

    private static func integer<Number: FixedWidthInteger>(_ text: String) -> Number? {
        let sign = text.hasPrefix("-") ? "-" : ""
        let digits = text.dropFirst(sign.count)
        guard digits.lowercased().hasPrefix("0x") else { return Number(text) }
        return Number(sign + digits.dropFirst(2), radix: 16)
    }

    // MARK: - Macros

    // Parses a call that may be a macro: a field test, a comprehension or an ordinary call.
    private func call(
        _ name: String, _ receiver: SyntaxNode?, _ arguments: [SyntaxNode], at offset: Int
    ) throws(CELError) -> SyntaxNode {
        if name == "has", receiver == nil { return try self.test(arguments, at: offset) }
        if let receiver, let kind = ComprehensionKind(rawValue: name),
            arguments.count == 2 || kind == .map && arguments.count == 3
        {
            return try self.comprehension(kind, over: receiver, arguments, at: offset)
        }
        return try SyntaxNode(
            .call(name, receiver: receiver, arguments), at: offset, over: arguments + (receiver.map { [$0] } ?? []))
    }

    private func test(_ arguments: [SyntaxNode], at offset: Int) throws(CELError) -> SyntaxNode {
        guard arguments.count == 1, case .select(let operand, let field, false) = arguments[0].kind else {
            throw CELError("has() takes a field, such as has(body.name),", at: offset)
        }
        return try SyntaxNode(.select(operand, field: field, isTest: true), at: offset, over: [operand])
    }

    private func comprehension(
        _ kind: ComprehensionKind, over range: SyntaxNode, _ arguments: [SyntaxNode], at offset: Int
    ) throws(CELError) -> SyntaxNode {
        guard case .name(let variable) = arguments[0].kind else {
            throw CELError("the first argument of \(kind.rawValue)() is not a name", at: arguments[0].offset)
        }
        let isMap = kind == .map
        let comprehension = Comprehension(
            kind: kind, range: range, variable: variable,
            predicate: isMap && arguments.count == 2 ? nil : arguments[1],
            transform: isMap ? arguments[arguments.count - 1] : nil)
        return try SyntaxNode(.comprehension(comprehension), at: offset, over: [range] + arguments.dropFirst())
    }
}

/// A call, before it is known whether it is a macro.
struct Macro {
    let name: String
    let receiver: SyntaxNode?
    let arguments: [SyntaxNode]
    let offset: Int

    /// What it means: a test, a comprehension or a call.
    func node() throws(CELError) -> SyntaxNode {
        if self.name == "has", self.receiver == nil { return try self.test() }
        if let receiver = self.receiver, let kind = SyntaxComprehension.Kind(rawValue: self.name),
            self.arguments.count == 2 || kind == .map && self.arguments.count == 3
        {
            return try self.comprehension(kind, over: receiver)
        }
        return try SyntaxNode(
            .call(self.name, receiver: self.receiver, self.arguments), at: self.offset,
            over: self.arguments + (self.receiver.map { [$0] } ?? []))
    }

    private func test() throws(CELError) -> SyntaxNode {
        guard self.arguments.count == 1, case .select(let operand, let field, false) = self.arguments[0].kind else {
            throw CELError("has() takes a field, such as has(body.name),", at: self.offset)
        }
        return try SyntaxNode(.select(operand, field: field, isTest: true), at: self.offset, over: [operand])
    }

    private func comprehension(
        _ kind: SyntaxComprehension.Kind, over range: SyntaxNode
    ) throws(CELError) -> SyntaxNode {
        guard case .name(let variable) = self.arguments[0].kind else {
            throw CELError("the first argument of \(self.name)() is no name", at: self.arguments[0].offset)
        }
        let isMap = kind == .map
        let comprehension = SyntaxComprehension(
            kind: kind, range: range, variable: variable,
            predicate: isMap && self.arguments.count == 2 ? nil : self.arguments[1],
            transform: isMap ? self.arguments[self.arguments.count - 1] : nil)
        return try SyntaxNode(
            .comprehension(comprehension), at: self.offset, over: [range] + self.arguments.dropFirst())
    }
}

package import TidegateCore

/// An expression of the Common Expression Language over a JSON document.
///
/// Supports the standard definitions of cel-spec, except messages, extensions and the names of time zones.
package struct CELExpression: Sendable, Hashable {
    /// The source text.
    package let text: String
    private let expression: CheckedExpression

    /// Longer expressions are rejected.
    private static let longest = 32_768

    /// Compiles an expression about one variable of any type.
    ///
    /// - Throws: ``CELError`` with the problem and its column.
    package init(_ text: String, variable: String) throws(CELError) {
        guard text.utf8.count <= Self.longest else {
            throw CELError("the expression is longer than \(Self.longest) bytes")
        }
        var checker = Checker(variable: variable)
        let checked = try checker.check(try Parser.parse(text))
        self.text = text
        self.expression = checked.expression
    }

    /// True if the expression is true of a document.
    ///
    /// - Throws: ``CELError`` if the expression has no value, or one that is not a bool; also after ten million steps,
    /// and soon after `isCancelled` returns true.
    package func isTrue(
        of document: JSONValue, isCancelled: @escaping () -> Bool = { false }
    ) throws(CELError) -> Bool {
        let value = try self.value(for: document, isCancelled: isCancelled)
        guard case .bool(let truth) = value else {
            throw CELError("the result is not a bool but a value of type \(value.type.name)")
        }
        return truth
    }

    /// The value of the expression for a document.
    func value(for document: JSONValue, isCancelled: @escaping () -> Bool = { false }) throws(CELError) -> Value {
        var evaluator = Evaluator(variables: [Value(document)], budget: Budget(isCancelled: isCancelled))
        return try evaluator.value(of: self.expression)
    }

    package static func == (left: CELExpression, right: CELExpression) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.text) }
}

/// Why an expression does not compile, or cannot be evaluated.
package struct CELError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One clause without a full stop; a compile error includes the column.
    package let description: String
    /// True if the evaluation took too many steps or too long, regardless of the document.
    package let isUnfinished: Bool

    init(_ description: String, isUnfinished: Bool = false) {
        self.description = description
        self.isUnfinished = isUnfinished
    }

    /// A problem at an offset in the text; columns count from 1.
    init(_ problem: String, at offset: Int) { self.init("\(problem) at column \(offset + 1)") }
}

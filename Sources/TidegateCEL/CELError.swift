/// Why an expression does not compile, or cannot be evaluated.
package struct CELError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One clause without a final full stop; that of an expression that does not compile names the column.
    package let description: String
    /// True if the evaluation took too many steps or too long, whatever the document says.
    package let isUnfinished: Bool

    init(_ description: String, isUnfinished: Bool = false) {
        self.description = description
        self.isUnfinished = isUnfinished
    }

    /// A problem at a place in the text; columns count from 1.
    init(_ problem: String, at offset: Int) { self.init("\(problem) at column \(offset + 1)") }
}

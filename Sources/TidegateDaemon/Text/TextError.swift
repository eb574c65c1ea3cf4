package import HTTPTypes
internal import TidegateCore

/// What is wrong with a text that somebody wrote, in one clause that quotes it.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause, without a full stop.
    package let description: String

    /// An error in these words.
    package init(_ description: String) { self.description = description }
}

extension HTTPField {
    /// Parses `Name: value`; the error quotes the text.
    package init(line: String) throws(TextError) {
        do throws(HTTPFieldError) {
            try self.init(parsing: line)
        } catch {
            throw TextError(error.description)
        }
    }
}

package import HTTPTypes

/// Why a text from the user is invalid; quotes it.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message, without a full stop.
    package let description: String

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

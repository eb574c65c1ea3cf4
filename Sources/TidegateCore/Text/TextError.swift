/// Why a text from the user is invalid; quotes it.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message, without a full stop.
    package let description: String

    package init(_ description: String) { self.description = description }
}

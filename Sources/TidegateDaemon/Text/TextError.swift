/// What is wrong with a text that somebody wrote, in one clause that quotes it.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause, without a full stop.
    package let description: String

    /// An error in these words.
    package init(_ description: String) { self.description = description }
}

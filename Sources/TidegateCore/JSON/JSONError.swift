/// Why bytes are not JSON; the message quotes none of them.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The rule that the bytes break.
    public enum Kind: Sendable, Hashable {
        /// A value is missing here.
        case noValue
        /// The text ends inside a value.
        case endOfText
        /// More text follows the value.
        case trailingBytes
        /// A string contains a control character, or is not UTF-8.
        case invalidString
        /// An escape that RFC 8259 section 7 does not know.
        case invalidEscape
        /// `\uD800` to `\uDFFF` without its other half: it encodes no character.
        case loneSurrogate
        /// A number of another form than RFC 8259 section 6 has, or one larger than a double holds.
        case invalidNumber
        /// A comma, a colon, a name or a closing bracket is missing.
        case invalidStructure
        /// Arrays and objects more than 512 deep.
        case tooDeep
        /// More values and names of members than the caller allows.
        case tooManyNodes(limit: Int)
    }

    /// The rule that the bytes break.
    public let kind: Kind
    /// Where, in bytes from the start.
    public let offset: Int

    /// One clause without a final full stop.
    public var description: String {
        let problem =
            switch self.kind {
            case .noValue: "no value begins"
            case .endOfText: "the text ends inside a value"
            case .trailingBytes: "something follows the value"
            case .invalidString: "a string has a control character in it, or is not UTF-8"
            case .invalidEscape: "an escape is unknown"
            case .loneSurrogate: "a surrogate has no other half"
            case .invalidNumber: "a number has another form than JSON's, or is too large"
            case .invalidStructure: "a comma, a colon, a name or a bracket is missing"
            case .tooDeep: "values are nested more than 512 deep"
            case .tooManyNodes(let limit): "more than \(limit) values and names of members"
            }
        if case .tooManyNodes = self.kind { return "too large: \(problem) at byte \(self.offset)" }
        return "not JSON: \(problem) at byte \(self.offset)"
    }
}

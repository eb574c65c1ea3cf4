/// A token of CEL, and where it begins.
struct Token: Sendable, Hashable {
    /// What it is.
    enum Kind: Sendable, Hashable {
        case identifier(String)
        /// `in`, and what may be no name.
        case keyword(String)
        /// Digits in decimal, or in hexadecimal after `0x`.
        case int(String)
        case uint(String)
        case double(Double)
        case string([UInt8])
        case bytes([UInt8])
        /// An operator or a bracket.
        case symbol(String)
        case end
    }

    let kind: Kind
    /// In Unicode scalars from the start of the text.
    let offset: Int

    /// The token as messages name it.
    var text: String {
        switch self.kind {
        case .identifier(let name), .keyword(let name), .symbol(let name): "\"\(name)\""
        case .int(let digits): "\"\(digits)\""
        case .uint(let digits): "\"\(digits)u\""
        case .double(let number): "\"\(number)\""
        case .string: "a string"
        case .bytes: "bytes"
        case .end: "the end"
        }
    }
}

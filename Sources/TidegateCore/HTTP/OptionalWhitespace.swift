extension StringProtocol {
    /// The text without spaces and tabs around it: what HTTP allows around values (OWS, RFC 9110 5.6.3).
    package var trimmingOptionalWhitespace: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        return String(self.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}

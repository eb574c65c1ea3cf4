/// How text is drawn: with colours or without, and how wide.
struct TextStyle: Sendable, Hashable {
    var isColoured: Bool
    /// Columns; 80 where nothing tells.
    var width: Int

    static let plain = TextStyle(isColoured: false, width: 80)

    /// What a text tells its reader.
    enum Tone: String, Sendable {
        case good = "32"
        case bad = "31"
        case doubtful = "33"
        case faint = "2"
        case strong = "1"
    }

    /// The text in a tone's colour (ECMA-48 8.3.117), or as it is.
    func paint(_ text: String, _ tone: Tone?) -> String {
        guard self.isColoured, let tone else { return text }
        return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
    }
}

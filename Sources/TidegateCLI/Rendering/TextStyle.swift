/// Whether text is colored, and its width.
struct TextStyle: Sendable, Hashable {
    var isColored: Bool
    /// Columns; 80 if the width is unknown.
    var width: Int

    static let plain = TextStyle(isColored: false, width: 80)

    /// The text in `color` (ECMA-48 8.3.117), or as it is without colors.
    func paint(_ text: String, _ color: TextColor?) -> String {
        guard self.isColored, let color else { return text }
        return "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m"
    }
}

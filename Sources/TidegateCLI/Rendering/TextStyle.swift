internal import TidegateCore

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

    /// The text with control characters escaped, except line feeds and the sequences of ``paint(_:_:)``.
    static func escapingControls(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.controlsTerminal) else { return text }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            if scalar == "\u{1B}", let sequence = self.sequences.first(where: { rest.starts(with: $0.unicodeScalars) })
            {
                result.append(contentsOf: sequence.unicodeScalars)
                rest = rest.dropFirst(sequence.unicodeScalars.count)
                continue
            }
            if scalar == "\n" { result.append(scalar) } else { result.append(escapingControl: scalar) }
            rest = rest.dropFirst()
        }
        return String(result)
    }

    private static let sequences = (TextColor.allCases.map(\.rawValue) + ["0"]).map { "\u{1B}[\($0)m" }
}

/// The colors of text, by meaning: parameters of the escape sequence SGR (ECMA-48 8.3.117).
enum TextColor: String, Sendable, CaseIterable {
    case good = "32"
    case bad = "31"
    case doubtful = "33"
    case faint = "2"
    case strong = "1"
}

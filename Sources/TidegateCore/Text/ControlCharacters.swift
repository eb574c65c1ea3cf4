extension String {
    /// The text with control characters escaped, so that names and responses cannot control the reader's terminal.
    package var escapingControls: String {
        guard self.unicodeScalars.contains(where: \.controlsTerminal) else { return self }
        var text = ""
        for scalar in self.unicodeScalars { text.unicodeScalars.append(escapingControl: scalar) }
        return text
    }
}

extension Unicode.Scalar {
    /// True for C0 and C1 controls, separators of lines, and marks that change the direction of text (UAX 9).
    package var controlsTerminal: Bool {
        switch self {
        case " "..."~": false
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}",
            "\u{2066}"..."\u{2069}":
            true
        default: false
        }
    }
}

extension String.UnicodeScalarView {
    /// Appends a scalar, or if it is a control character its number: `\u{1b}`.
    package mutating func append(escapingControl scalar: Unicode.Scalar) {
        guard scalar.controlsTerminal else { return self.append(scalar) }
        self.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
    }
}

/// Wraps text at a width: between words, and inside words that are longer than a line.
enum LineWrapper {
    /// The text in lines of at most `width` columns; control and bidirectional characters become `?`.
    static func lines(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var columns = 0
        for word in self.printable(text).split(separator: " ").flatMap({ self.pieces(String($0), width) }) {
            let needed = self.columns(of: word)
            if !line.isEmpty, columns + 1 + needed > width {
                lines.append(line)
                (line, columns) = ("", 0)
            }
            columns += needed + (line.isEmpty ? 0 : 1)
            line += line.isEmpty ? word : " \(word)"
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }

    /// The number of terminal columns of a text; characters that may be wide are counted as wide.
    static func columns(of text: String) -> Int { text.reduce(0) { $0 + self.columns(of: $1) } }

    /// The text in one line of at most `width` columns, with an ellipsis if it is longer.
    static func cut(_ text: String, to width: Int) -> String {
        let text = self.printable(text)
        guard self.columns(of: text) > width else { return text }
        var columns = 1
        return text.prefix { character in
            columns += self.columns(of: character)
            return columns <= width
        } + "…"
    }

    /// The text with control characters replaced: a server or a certificate must not control the terminal.
    static func printable(_ text: String) -> String {
        String(
            text.map { character in
                let isPrintable = character.unicodeScalars.allSatisfy { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                        false
                    default: true
                    }
                }
                return isPrintable ? character : "?"
            })
    }

    // Two columns from the first wide script on (UAX 11): an upper bound.
    private static func columns(of character: Character) -> Int {
        character.unicodeScalars.contains { $0.value >= 0x1100 } ? 2 : 1
    }

    // A long URL is broken after the last separator that fits, or at the end of the line.
    private static func pieces(_ word: String, _ width: Int) -> [String] {
        var pieces: [String] = []
        var rest = Substring(word)
        while self.columns(of: String(rest)) > width {
            var columns = 0
            let head = rest.prefix { character in
                columns += self.columns(of: character)
                return columns <= max(width, 2)
            }
            let cut = head.lastIndex { "/?&=,;:".contains($0) }.map { head.index(after: $0) } ?? head.endIndex
            let isFarEnough = head.distance(from: head.startIndex, to: cut) * 2 > head.count
            let end = isFarEnough ? cut : head.endIndex
            pieces.append(String(rest[..<end]))
            rest = rest[end...]
        }
        return rest.isEmpty ? pieces : pieces + [String(rest)]
    }
}

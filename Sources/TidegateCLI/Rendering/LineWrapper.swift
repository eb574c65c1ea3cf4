/// Folds text to a width, whatever it holds: words where it can, letters where a word alone is too long.
enum LineWrapper {
    /// The text in lines of at most `width` columns; what would move a cursor or turn a line around becomes a `?`.
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

    /// How many columns a terminal gives the text; characters that may be wide are counted as wide.
    static func columns(of text: String) -> Int { text.reduce(0) { $0 + self.columns(of: $1) } }

    /// The text without control characters: what a server or a certificate says is not to be obeyed.
    static func printable(_ text: String) -> String {
        String(
            text.map { character in
                let isHarmless = character.unicodeScalars.allSatisfy { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                        false
                    default: true
                    }
                }
                return isHarmless ? character : "?"
            })
    }

    // From the first wide script on (UAX 11) two columns; that is never too few.
    private static func columns(of character: Character) -> Int {
        character.unicodeScalars.contains { $0.value >= 0x1100 } ? 2 : 1
    }

    // A long URL is cut after the last character that separates its parts, or where the line ends.
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

internal import TidegateCore

/// Rows of cells in aligned columns, two spaces apart; the last cell of a row is wrapped if it does not fit.
struct Table {
    /// A text and its color.
    struct Cell {
        /// The parts of the text; lines break only between them.
        var parts: [String]
        var color: TextColor?

        var text: String { self.parts.count == 1 ? self.parts[0] : self.parts.joined(separator: ", ") }

        /// The parts in lines of at most `width`, unless a single part is longer.
        func wrapped(to width: Int) -> [String] {
            self.parts.reduce(into: []) { lines, part in
                if let last = lines.last, last.count + 2 + part.count <= width {
                    lines[lines.count - 1] = "\(last), \(part)"
                } else {
                    lines.append(part)
                }
            }
        }
    }

    private var rows: [[Cell]] = []

    /// A table that begins with a row of headings, if there are any.
    init(head: [String] = []) {
        if !head.isEmpty { self.rows = [head.map { Cell($0, .faint) }] }
    }

    mutating func add(_ row: Cell...) { self.rows.append(row) }

    mutating func add(_ row: [Cell]) { self.rows.append(row) }

    /// The rows as lines without trailing spaces.
    func lines(_ style: TextStyle) -> [String] {
        let columns = self.rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            self.rows.map { column < $0.count - 1 ? $0[column].text.count : 0 }.max() ?? 0
        }
        return self.rows.flatMap { self.lines(of: $0, widths, style) }
    }

    private func lines(of row: [Cell], _ widths: [Int], _ style: TextStyle) -> [String] {
        let last = row.lastIndex { !$0.parts.isEmpty } ?? 0
        let indent = widths.prefix(last).reduce(0) { $0 + $1 + 2 }
        let start = row.prefix(last).enumerated().map { column, cell in
            let gap = String(repeating: " ", count: max(0, widths[column] - cell.text.count) + 2)
            return style.paint(cell.text, cell.color) + gap
        }.joined()
        let wrapped = row[last].wrapped(to: max(20, style.width - indent)).map { style.paint($0, row[last].color) }
        let rest = wrapped.dropFirst().map { String(repeating: " ", count: indent) + $0 }
        return [start + (wrapped.first ?? "")] + rest
    }
}

extension Table.Cell {
    init(_ text: String, _ color: TextColor? = nil) { self.init(parts: text.isEmpty ? [] : [text], color: color) }
}

/// Whether text is colored, and its width.
struct TextStyle: Sendable, Hashable {
    var isColored: Bool
    /// Columns; 80 if the width is unknown.
    var width: Int

    static let plain = TextStyle(isColored: false, width: 80)

    /// The text in `color` (ECMA-48 8.3.117), or unchanged without colors.
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
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        return String(
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

    // An upper bound: two columns from the first wide script on (UAX 11).
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

/// Rows of cells in aligned columns, two spaces apart; the last cell of a row is folded where it does not fit.
struct Table {
    /// A text and its tone.
    struct Cell {
        /// The text in the pieces that it may be folded between.
        var parts: [String]
        var tone: TextStyle.Tone?

        init(_ text: String, _ tone: TextStyle.Tone? = nil) {
            self.init(parts: text.isEmpty ? [] : [text], tone)
        }

        init(parts: [String], _ tone: TextStyle.Tone? = nil) {
            self.parts = parts
            self.tone = tone
        }

        var text: String { self.parts.joined(separator: ", ") }

        /// The pieces in lines of at most `width`, where a single piece is not longer.
        func folded(to width: Int) -> [String] {
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

    mutating func add(_ row: Cell...) { self.rows.append(row) }

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
            return style.paint(cell.text, cell.tone) + gap
        }.joined()
        let folded = row[last].folded(to: max(20, style.width - indent)).map { style.paint($0, row[last].tone) }
        let rest = folded.dropFirst().map { String(repeating: " ", count: indent) + $0 }
        return [start + (folded.first ?? "")] + rest
    }
}

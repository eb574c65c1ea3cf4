/// Rows of cells in aligned columns, two spaces apart; the last column is as long as it is.
struct Table {
    /// A text and its tone.
    struct Cell {
        var text: String
        var tone: TextStyle.Tone?

        init(_ text: String, _ tone: TextStyle.Tone? = nil) {
            self.text = text
            self.tone = tone
        }
    }

    private var rows: [[Cell]] = []

    mutating func add(_ row: Cell...) { self.rows.append(row) }

    mutating func add(_ row: [Cell]) { self.rows.append(row) }

    /// The rows as lines without trailing spaces.
    func lines(_ style: TextStyle) -> [String] {
        let columns = self.rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            self.rows.map { column < $0.count - 1 ? $0[column].text.count : 0 }.max() ?? 0
        }
        return self.rows.map { row in
            let last = row.lastIndex { !$0.text.isEmpty } ?? -1
            return row.prefix(last + 1).enumerated().map { column, cell in
                let gap = column == last ? 0 : max(0, widths[column] - cell.text.count) + 2
                return style.paint(cell.text, cell.tone) + String(repeating: " ", count: gap)
            }.joined()
        }
    }
}

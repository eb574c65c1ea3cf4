/// Rows of cells in aligned columns, two spaces apart; the last cell of a row is wrapped if it does not fit.
struct Table {
    /// A text and its color.
    struct Cell {
        /// The parts of the text, which may be wrapped between them.
        var parts: [String]
        var color: TextColor?

        var text: String { self.parts.joined(separator: ", ") }

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

    /// A table that begins with a row of headings, if any.
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

internal import TidegateCore

/// A table whose failing rows come first; of many rows those that need no attention are folded away.
struct RowTable {
    struct Row {
        let cells: [HTML]
        /// False for a row that may be folded away.
        var isUrgent = true
        /// The title of a row that has only one line: what that line leaves out.
        var detail = ""
        var style: String?
        /// The task whose progress the script shows in this row.
        var task: String?
    }

    /// A section with more rows is folded, and a table with more rows gives each of them one line.
    static let limit = 12

    /// The section that it is in.
    let section: String
    let heads: [String]
    let rows: [Row]
    var style: String?
    var none: HTML = "None."
    /// Whether the filter applies to it, and its rows may become single lines.
    var isFiltered = true

    var html: HTML {
        let urgent = self.rows.filter(\.isUrgent)
        let others = self.rows.filter { !$0.isUrgent }
        guard !self.rows.isEmpty else { return HTML("p", class: "empty", self.none) }
        guard self.rows.count > Self.limit, !others.isEmpty else { return self.table(urgent + others) }
        let count = urgent.isEmpty ? "All \(others.count)" : "\(others.count) more"
        let label = self.isFiltered ? "\(count), none failing" : count
        let rest = HTML.fold("\(self.section)-rest", label, self.table(others))
        return "\(urgent.isEmpty ? nil : self.table(urgent))\(rest)"
    }

    private func table(_ rows: [Row]) -> HTML {
        let isCompact = self.isFiltered && rows.count > Self.limit
        let styles = [self.style, self.isFiltered ? "rows" : nil, isCompact ? "compact" : nil].compactMap(\.self)
        let lines = rows.map { row in
            let cells = zip(self.heads, row.cells).map { HTML("td", with: ["data-head": $0], HTML("div", $1)) }
            return HTML(
                "tr", class: row.style, with: ["data-task": row.task, "title": isCompact ? row.detail : nil],
                cells.joined())
        }
        return .table(class: styles.isEmpty ? nil : styles.joined(separator: " "), self.heads, rows: lines)
    }
}

extension RowTable {
    /// A table that shows its first rows and folds the others away.
    init(_ section: String, _ heads: [String], first cells: [[HTML]], none: HTML = "None.") {
        let rows = cells.enumerated().map { Row(cells: $1, isUrgent: $0 < Self.limit) }
        self.init(section: section, heads: heads, rows: rows, none: none, isFiltered: false)
    }
}

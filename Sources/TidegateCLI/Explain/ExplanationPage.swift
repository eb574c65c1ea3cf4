/// The columns of an explanation.
struct ExplanationPage {
    let style: TextStyle
    let width: Int
    private static let labelWidth = 9
    private static let markWidth = 3
    // The length of the longest rung name with a version of IP.
    private static let nameWidth = 14

    init(_ style: TextStyle) {
        self.style = style
        self.width = min(max(style.width, 40), ExplanationText.maxWidth)
    }

    /// The first line, wrapped without an indent.
    func headline(_ text: String, _ color: TextColor) -> [String] {
        LineWrapper.lines(text, to: self.width).map { self.style.paint($0, color) }
    }

    /// A label and what it says.
    func row(_ label: String, _ text: String, _ color: TextColor? = nil) -> [String] {
        let indent = ExplanationPage.labelWidth + 2
        let wrapped = LineWrapper.lines(text, to: self.width - indent)
        return wrapped.enumerated().map { position, line in
            guard !line.isEmpty else { return self.style.paint(label, .faint) }
            let start =
                position == 0 ? ExplanationPage.padded(label, to: indent) : String(repeating: " ", count: indent)
            return self.style.paint(start, position == 0 ? .faint : nil) + self.style.paint(line, color)
        }
    }

    /// A rung: its mark, its name, and one line for each clause.
    func rung(mark: String, color: TextColor, name: String, clauses: [String]) -> [String] {
        let indent = 2 + ExplanationPage.markWidth + 2 + ExplanationPage.nameWidth + 2
        let painted =
            self.style.paint(mark, color) + ExplanationPage.padded("", to: ExplanationPage.markWidth + 2 - mark.count)
        let visible = clauses.filter { !$0.allSatisfy(\.isWhitespace) }
        guard !visible.isEmpty else { return ["  \(painted)\(name)"] }
        let start = "  \(painted)\(ExplanationPage.padded(name, to: ExplanationPage.nameWidth + 2))"
        let blank = String(repeating: " ", count: indent)
        let wrapped = visible.flatMap { clause in
            // Continuation lines of a clause are indented.
            LineWrapper.lines(clause, to: self.width - indent - 2).enumerated().map { $0 == 0 ? $1 : "  \($1)" }
        }
        return wrapped.enumerated().map { ($0 == 0 ? start : blank) + $1 }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

/// Repaints a block of lines at the bottom of a terminal (ECMA-48 8.3).
struct TerminalRenderer: Sendable {
    private var height = 0

    /// What to write so that `lines` stand where the last ones stood, with `above` printed over them for good.
    mutating func paint(_ lines: [String], above: [String] = []) -> String {
        var text = self.height > 0 ? "\u{1B}[\(self.height)A\r" : ""
        for line in above + lines { text += "\(line)\u{1B}[K\n" }
        // Fewer lines than before leave old ones below.
        text += "\u{1B}[J"
        self.height = lines.count
        return text
    }
}

/// Repaints a block of lines at the bottom of a terminal (ECMA-48 8.3).
struct TerminalRenderer: Sendable {
    private var height = 0

    /// The output that replaces the lines of the last call by `lines`, and prints `above` permanently before them.
    mutating func render(_ lines: [String], above: [String] = []) -> String {
        var text = self.height > 0 ? "\u{1B}[\(self.height)A\r" : ""
        for line in above + lines { text += "\(TextStyle.escapingControls(line))\u{1B}[K\n" }
        // Erases lines of a longer block before.
        text += "\u{1B}[J"
        self.height = lines.count
        return text
    }
}

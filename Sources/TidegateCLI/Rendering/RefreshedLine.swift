internal import Synchronization

/// A line on standard error that replaces itself; nothing is shown unless it is a terminal.
final class RefreshedLine: Sendable {
    private let terminal: Terminal
    private let isShown: Bool
    /// The text on the terminal; empty if none.
    private let text = Mutex("")

    init(_ terminal: Terminal, isShown: Bool) {
        self.terminal = terminal
        self.isShown = isShown
    }

    /// Shows a text, cut to the width of the terminal.
    func show(_ text: String) {
        guard self.isShown else { return }
        // The last column stays free, because some terminals wrap when it is written.
        let text = LineWrapper.cut(TextStyle.escapingControls(text), to: self.terminal.errorStyle.width - 1)
        self.text.withLock { shown in
            guard shown != text else { return }
            shown = text
            self.terminal.draw("\r\(text)\u{1B}[K")
        }
    }

    /// Erases the line.
    func clear() {
        self.text.withLock { shown in
            if !shown.isEmpty { self.terminal.draw("\r\u{1B}[K") }
            shown = ""
        }
    }
}

/// Repaints a block of lines at the bottom of a terminal (ECMA-48 8.3).
struct TerminalRenderer: Sendable {
    private var height = 0

    /// The output that replaces the previous block by `lines`, and prints `above` permanently above it.
    mutating func render(_ lines: [String], above: [String] = []) -> String {
        var text = self.height > 0 ? "\u{1B}[\(self.height)A\r" : ""
        for line in above + lines { text += "\(TextStyle.escapingControls(line))\u{1B}[K\n" }
        // Erases the rest of a longer previous block.
        text += "\u{1B}[J"
        self.height = lines.count
        return text
    }
}

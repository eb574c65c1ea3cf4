internal import Synchronization

/// One line on standard error that replaces itself; on a terminal only.
final class RefreshedLine: Sendable {
    private let terminal: Terminal
    private let isShown: Bool
    /// What is on the terminal; empty if nothing is.
    private let text = Mutex("")

    init(_ terminal: Terminal, isShown: Bool) {
        self.terminal = terminal
        self.isShown = isShown
    }

    /// Shows a text, cut to the width of the terminal.
    func show(_ text: String) {
        guard self.isShown else { return }
        // The last column stays free: some terminals wrap when it is written.
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

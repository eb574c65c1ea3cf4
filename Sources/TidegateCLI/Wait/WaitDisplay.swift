internal import Synchronization
internal import Tidegate

/// Shows on standard error what a wait is for: on a terminal one line that is refreshed, otherwise a line whenever a
/// condition fails on another rung.
final class WaitDisplay: Sendable {
    private enum Mode {
        case refreshed, lines, none
    }

    private let terminal: Terminal
    private let mode: Mode
    /// The refreshed line; empty if there is none on the terminal.
    private let line = Mutex("")

    init(_ terminal: Terminal, isQuiet: Bool) {
        self.terminal = terminal
        self.mode = isQuiet ? .none : terminal.isErrorTerminal ? .refreshed : .lines
    }

    /// Shows what is waited for, before anything is known.
    func begin(_ wait: WaitConfiguration) {
        if self.mode == .refreshed { self.refresh(WaitText.start(wait)) }
    }

    /// Shows how a wait stands.
    func show(_ progress: WaitProgress, of wait: WaitConfiguration) {
        switch self.mode {
        case .none: break
        case .refreshed: self.refresh(WaitText.progress(progress, of: wait))
        case .lines:
            guard progress.hasNewRung, let unmet = progress.unmet else { return }
            self.terminal.printError("waiting: \(WaitText.unmet(unmet))")
        }
    }

    /// Erases the refreshed line.
    func clear() {
        self.line.withLock { line in
            if !line.isEmpty { self.terminal.draw("\r\u{1B}[K") }
            line = ""
        }
    }

    // The last column stays free: some terminals wrap when it is written.
    private func refresh(_ text: String) {
        let text = LineWrapper.cut(text, to: self.terminal.errorStyle.width - 1)
        self.line.withLock { line in
            guard line != text else { return }
            line = text
            self.terminal.draw("\r\(text)\u{1B}[K")
        }
    }
}

internal import Tidegate

/// Shows on standard error what a wait is for: on a terminal one line that is refreshed, otherwise a line whenever a
/// condition fails on another rung.
struct WaitDisplay: Sendable {
    private let terminal: Terminal
    private let isQuiet: Bool
    private let line: RefreshedLine

    init(_ terminal: Terminal, isQuiet: Bool) {
        self.terminal = terminal
        self.isQuiet = isQuiet
        self.line = RefreshedLine(terminal, isShown: !isQuiet && terminal.isErrorTerminal)
    }

    /// Shows what is waited for, before anything is known.
    func begin(_ wait: WaitConfiguration) { self.line.show(WaitText.start(wait)) }

    /// Shows how a wait stands.
    func show(_ progress: WaitProgress, of wait: WaitConfiguration) {
        self.line.show(WaitText.progress(progress, of: wait))
        guard !self.isQuiet, !self.terminal.isErrorTerminal, progress.hasNewRung, let unmet = progress.unmet else {
            return
        }
        self.terminal.printError("waiting: \(WaitText.unmet(unmet))")
    }

    /// Erases the refreshed line.
    func clear() { self.line.clear() }
}

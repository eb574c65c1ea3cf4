internal import Tidegate

/// Shows on standard error what a wait is waiting for.
///
/// On a terminal, one line is refreshed; otherwise a line is printed whenever a condition fails on another rung. With
/// `-v` every text is a line that stays.
struct WaitDisplay: Sendable {
    private let terminal: Terminal
    private let verbosity: VerbosityOptions
    private let line: RefreshedLine

    init(_ terminal: Terminal, _ verbosity: VerbosityOptions) {
        self.terminal = terminal
        self.verbosity = verbosity
        self.line = RefreshedLine(
            terminal, isShown: !verbosity.quiet && !verbosity.verbose && terminal.isErrorTerminal)
    }

    /// Shows the conditions, before anything is known about them.
    func begin(_ wait: WaitConfiguration) { self.line.show(WaitText.start(wait)) }

    /// Shows the current progress of a wait.
    func show(_ progress: WaitProgress, of wait: WaitConfiguration) {
        let text = WaitText.progress(progress, of: wait)
        if self.verbosity.verbose { return self.terminal.printError(text.escapingControls) }
        self.line.show(text)
        guard !self.verbosity.quiet, !self.terminal.isErrorTerminal, progress.hasNewRung, let unmet = progress.unmet
        else {
            return
        }
        self.terminal.printError("waiting: \(WaitText.unmet(unmet))")
    }

    /// Erases the refreshed line.
    func clear() { self.line.clear() }
}

/// The text that `wait` and `run` print while they wait.
enum WaitText {
    /// `carrier: eth0 has no carrier`, on one line: a server's text may be long, and must not control the terminal.
    static func unmet(_ unmet: UnmetCondition) -> String {
        let text = LineWrapper.printable(unmet.description)
        return text.count > 240 ? "\(text.prefix(239))…" : text
    }

    /// `waiting 3 s of 2 min for dns: no answer in time`.
    static func progress(_ progress: WaitProgress, of wait: WaitConfiguration) -> String {
        let limit = wait.timeout.map { " of \($0.shortText)" } ?? ""
        let start = "waiting \(Duration.seconds(progress.elapsed.components.seconds).shortText)\(limit) for"
        guard let unmet = progress.unmet else {
            let verb = wait.conditions.count == 1 || wait.isAnyEnough ? "holds" : "hold"
            let time = "\(Duration.seconds(progress.held.components.seconds).shortText) of \(wait.stable.shortText)"
            return "\(start) \(self.conditions(wait)), which \(verb) for \(time)"
        }
        return "\(start) \(unmet.condition): \(unmet.message)"
    }

    /// `waiting for route and dns`.
    static func start(_ wait: WaitConfiguration) -> String { "waiting for \(self.conditions(wait))" }

    private static func conditions(_ wait: WaitConfiguration) -> String {
        wait.conditions.map(\.description).joined(separator: wait.isAnyEnough ? " or " : " and ")
    }
}

extension OneShotMonitor {
    /// Waits until the conditions hold; returns nil if they do, and otherwise why they do not.
    func wait(_ options: GateOptions.Parsed, _ display: WaitDisplay) async -> String? {
        defer { display.clear() }
        display.begin(options.wait)
        do throws(WaitError) {
            let diagnostics = self.diagnostics(options.internetCheck, trusting: options.caFile)
            try await diagnostics.wait(for: options.wait) { display.show($0, of: options.wait) }
            return nil
        } catch {
            return options.wait.message(for: error)
        }
    }
}

extension WaitConfiguration {
    /// The last line of a failed wait.
    fileprivate func message(for error: WaitError) -> String {
        switch error {
        case .cancelled: return "interrupted"
        case .timedOut(nil): return "the conditions did not hold for \(self.stable.shortText) in time"
        case .timedOut(let unmet?):
            guard let limit = self.timeout, limit > .zero else { return WaitText.unmet(unmet) }
            return "gave up after \(limit.shortText): \(WaitText.unmet(unmet))"
        }
    }
}

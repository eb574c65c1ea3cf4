internal import Synchronization
internal import Tidegate
internal import TidegateDaemon

/// Explains targets one after another; on a terminal the rungs appear as they are decided.
struct ExplainRun: Sendable {
    /// What is printed.
    enum Output: Sendable {
        case none, json, text, verboseText
    }

    let diagnostics: PathDiagnostics
    let families: [AddressFamily]
    /// The maximum time for each target.
    let limit: Duration
    let output: Output
    /// Asks a running daemon what it knows.
    let daemon: @Sendable () async -> DaemonKnowledge

    /// Explains all targets; returns the worst exit, nil if all work.
    func run(_ targets: [ExplainTarget]) async throws -> CommandError? {
        let terminal = Terminal()
        var worst: CommandError?
        async let asked = self.output == .none ? nil : self.daemon()
        for (position, target) in targets.enumerated() {
            if position > 0, self.output == .text || self.output == .verboseText { terminal.print("") }
            let live = LiveExplanation(isShown: self.isText && terminal.isErrorTerminal, terminal: terminal)
            let (explanation, signal) = await self.explain(target, live)
            live.end()
            if let explanation { self.print(explanation, await asked, lists: target.isInternet, terminal) }
            if let signal { return CommandError(.signal(signal)) }
            if let explanation, let error = CommandError(for: explanation), worst == nil || error.status == .no {
                worst = error
            }
        }
        return worst
    }

    private var isText: Bool { self.output == .text || self.output == .verboseText }

    private enum End: Sendable {
        case explained(Explanation)
        case interrupted(Int32)
    }

    // On a signal, what is known by then.
    private func explain(_ target: ExplainTarget, _ live: LiveExplanation) async -> (Explanation?, signal: Int32?) {
        let interrupts = await Signals.interrupts()
        return await withTaskGroup(of: End?.self) { group in
            group.addTask {
                .explained(
                    await self.diagnostics.diagnose(target, families: self.families, within: self.limit) {
                        live.show($0)
                    })
            }
            group.addTask { await interrupts.first { _ in true }.map { .interrupted($0) } }
            defer { group.cancelAll() }
            for await end in group {
                switch end {
                case .explained(let explanation)?: return (explanation, nil)
                case .interrupted(let number)?: return (live.last, number)
                case nil: continue
                }
            }
            return (live.last, nil)
        }
    }

    // The daemon's targets are listed where no target is asked for.
    private func print(
        _ explanation: Explanation, _ daemon: DaemonKnowledge?, lists: Bool, _ terminal: Terminal
    ) {
        switch self.output {
        case .none: break
        case .json:
            let since = daemon?.since(explanation)?.description
            let json = explanation.json.adding(.init("since", .optional(since)))
            terminal.print((lists ? json.adding(.init("targets", daemon?.json ?? .null)) : json).description)
        case .text, .verboseText:
            let isVerbose = self.output == .verboseText
            let known = daemon.map { lists ? $0 : $0.withoutTargets }
            for line in ExplanationText.lines(explanation, terminal.outputStyle, isVerbose: isVerbose, known) {
                terminal.print(line)
            }
        }
    }
}

/// What is known so far, redrawn on a terminal with every rung that is decided.
final class LiveExplanation: Sendable {
    private struct State {
        var renderer = TerminalRenderer()
        var last: Explanation?
        var isOver = false
    }

    private let state = Mutex(State())
    private let isShown: Bool
    private let terminal: Terminal

    init(isShown: Bool, terminal: Terminal) {
        self.isShown = isShown
        self.terminal = terminal
    }

    /// The newest explanation; nil if nothing was found yet.
    var last: Explanation? { self.state.withLock { $0.last } }

    func show(_ explanation: Explanation) {
        self.state.withLock { state in
            state.last = explanation
            guard self.isShown, !state.isOver else { return }
            let lines = ExplanationText.progress(explanation, self.terminal.errorStyle)
            self.terminal.draw(state.renderer.render(lines))
        }
    }

    /// Erases what was drawn.
    func end() {
        self.state.withLock { state in
            state.isOver = true
            if self.isShown { self.terminal.draw(state.renderer.render([])) }
        }
    }
}

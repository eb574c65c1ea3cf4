internal import Synchronization
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// Explains targets one after another; on a terminal the rungs appear as they are decided.
struct ExplainRun: Sendable {
    /// The output format.
    enum Output: Sendable, Equatable {
        case none, json, text, verboseText
        /// One sentence, after the target's name if `isNamed`.
        case brief(isNamed: Bool)
    }

    let diagnostics: PathDiagnostics
    let families: [AddressFamily]
    /// The maximum time for each target.
    let limit: Duration
    /// How long the path is measured even if the target is not slow; nil for not at all.
    let measuring: Duration?
    let output: Output
    /// Asks a running daemon for what it knows.
    let daemon: @Sendable () async -> DaemonKnowledge

    /// Explains all targets; returns the worst exit status, or nil if all of them work.
    func run(_ targets: [ExplainTarget]) async throws -> CommandError? {
        let terminal = Terminal()
        var worst: CommandError?
        async let asked = self.isText || self.output == .json ? self.daemon() : nil
        for (position, target) in targets.enumerated() {
            if position > 0, self.isText { terminal.print("") }
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

    private typealias End = (explanation: Explanation?, signal: Int32?)

    // On a signal, returns what is known so far.
    private func explain(_ target: ExplainTarget, _ live: LiveExplanation) async -> End {
        let interrupts = await Signals.interrupts()
        return await withTaskGroup(of: End?.self) { group in
            group.addTask {
                guard self.output != .none else {
                    return (await self.diagnostics.diagnose(target, families: self.families, within: self.limit), nil)
                }
                let explanation = await self.diagnostics.explain(
                    target, families: self.families, within: self.limit, measuring: self.measuring
                ) { live.show($0) }
                return (explanation, nil)
            }
            group.addTask { await interrupts.first { _ in true }.map { (live.last, $0) } }
            defer { group.cancelAll() }
            var signal: Int32?
            for await case let end? in group {
                // What has been measured is worth waiting for: a second at most.
                guard self.measuring != nil, signal == nil, end.signal != nil else {
                    return (end.explanation, signal ?? end.signal)
                }
                signal = end.signal
                group.cancelAll()
            }
            return (live.last, signal)
        }
    }

    // The daemon's targets are listed only if the command line names none.
    private func print(
        _ explanation: Explanation, _ daemon: DaemonKnowledge?, lists: Bool, _ terminal: Terminal
    ) {
        switch self.output {
        case .none: break
        case .brief(let isNamed):
            let sentence = isNamed ? "\(explanation.target): \(explanation.sentence)" : explanation.sentence
            terminal.print(LineWrapper.printable(sentence))
        case .json:
            let since = daemon?.since(explanation)?.description
            let json = explanation.json.adding(.init("since", .optional(since)))
                .adding(.init("quality", explanation.quality?.json ?? .null))
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

/// The explanation so far, redrawn on a terminal whenever a rung is decided.
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

    /// The newest explanation; nil before the first one.
    var last: Explanation? { self.state.withLock { $0.last } }

    func show(_ explanation: Explanation) {
        self.state.withLock { state in
            state.last = explanation
            guard self.isShown, !state.isOver else { return }
            let lines = ExplanationText.progress(explanation, self.terminal.errorStyle)
            self.terminal.draw(state.renderer.render(lines))
        }
    }

    /// Erases the drawn lines.
    func end() {
        self.state.withLock { state in
            state.isOver = true
            if self.isShown { self.terminal.draw(state.renderer.render([])) }
        }
    }
}

/// What a running daemon adds to an explanation: the configured targets, and how long a failure has lasted.
struct DaemonKnowledge: Sendable {
    /// The daemon's report; nil if it did not answer.
    var report: DaemonReport?
    /// Why the report is missing; empty if there is a report.
    var missing = ""
    let now: WallTime

    /// The time limit for the daemon's answer, which contains only what it already knows.
    static let limit = Duration.milliseconds(500)

    /// Asks a daemon; it is not an error if none runs or if this user may not connect to it.
    static func ask(_ client: ControlClient, time: any TimeSource) async -> DaemonKnowledge {
        let late = DaemonKnowledge(report: nil, missing: "no answer on \(client.socket)", now: time.wall())
        return await value(within: self.limit, orElse: late) {
            do throws(ControlClientError) {
                let report = try await client.report()
                return DaemonKnowledge(report: report, now: time.wall())
            } catch {
                return DaemonKnowledge(report: nil, missing: error.description, now: time.wall())
            }
        }
    }

    /// The start of the failure that an explanation reports; nil if the daemon sees a different one.
    func since(_ explanation: Explanation) -> WallTime? {
        guard let rung = explanation.firstFailure?.rung.rawValue, let diagnosis = self.report?.diagnosis,
            diagnosis.firstFailure == rung, diagnosis.cause == explanation.cause?.code
        else { return nil }
        return diagnosis.since.flatMap(TaskText.moment)
    }

    /// This knowledge without the configured targets.
    var withoutTargets: DaemonKnowledge {
        var knowledge = self
        knowledge.report?.targets = []
        return knowledge
    }

    /// One clause for each configured target: its name, its level, and the result of its last check.
    var targets: [String] {
        (self.report?.targets ?? []).map { target in
            let place = target.name == target.target ? "" : " (\(target.target))"
            guard target.reached == false, let failure = target.lastFailure else {
                let level = ReachabilityLevel(rawValue: target.level)?.word ?? target.level
                return "\(target.name)\(place): \(level)" + (target.reached == nil ? ", not checked" : "")
            }
            let party = FaultParty(rawValue: failure.party)?.description ?? failure.party
            return "\(target.name)\(place): not reached: \(failure.text) (\(party))"
        }
    }

    /// The configured targets for programs that read JSON; null without a daemon.
    var json: JSONValue {
        guard let report = self.report else { return .null }
        return .array(
            report.targets.map { target in
                [
                    "name": .string(target.name), "target": .string(target.target), "level": .string(target.level),
                    "reason": .optional(target.reason), "reached": target.reached.map { .bool($0) } ?? .null,
                    "party": .optional(target.reached == false ? target.lastFailure?.party : nil),
                ]
            })
    }
}

internal import Tidegate

/// Shows transfers on the standard error, and their objects where those are asked for.
actor FetchProgressView {
    /// How progress is shown.
    enum Progress: Sendable {
        case bar, plain, none
    }

    /// What goes where.
    struct Look: Sendable {
        var terminal: Terminal
        var progress: Progress = .plain
        var writesObjects = false
        /// True where the standard output carries a body, so that nothing else may.
        var writesBody = false
    }

    private let tasks: [TransferTask]
    private let labels: [String]
    private let look: Look
    private let positions: [TaskID: Int]
    private let time: any TimeSource = SystemClock()
    private var finishedResults: [TaskResult?]
    private var meters: [RateMeter]
    private var retryAt: [MonotonicTime?]
    private var waited: [Duration?]
    /// The attempt whose continuation was told last.
    private var toldResumption: [Int]
    /// What was held while no attempt ran.
    private var kept: [TransferProgress]
    private var painter = TerminalRenderer()
    private var above: [String] = []

    /// Why an object could not be written; nil while all could.
    private(set) var outputProblem: OutputProblem?

    /// Every result in the order of the tasks, once all are there.
    var results: [TaskResult] { self.finishedResults.compactMap(\.self) }

    init(tasks: [TransferTask], labels: [String], look: Look) {
        self.tasks = tasks
        self.labels = labels
        self.look = look
        self.positions = Dictionary(
            tasks.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.finishedResults = tasks.map { _ in nil }
        self.meters = tasks.map { _ in RateMeter() }
        self.retryAt = tasks.map { _ in nil }
        self.waited = tasks.map { _ in nil }
        self.toldResumption = tasks.map { _ in 0 }
        self.kept = tasks.map { _ in TransferProgress() }
    }

    /// Follows the transfers until the Swift task is cancelled.
    func follow(_ bus: EventBus) async {
        let changes = bus.subscribe(.watch, bufferingNewest: 4096) { event in
            guard case .task(let task) = event.payload else { return false }
            // Where bytes go on from is told by the first progress after them; all other progress is painted.
            if case .progress(let progress, _) = task.kind { return progress.offset > 0 }
            return true
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in changes {
                    if case .task(let task) = event.payload { await self.heard(task, at: event.moment) }
                }
            }
            if self.look.progress == .bar {
                group.addTask {
                    while (try? await Task.sleep(for: .milliseconds(100))) != nil { await self.paint() }
                }
            }
        }
        if self.look.progress == .bar { self.paint() }
    }

    /// Takes the end of a transfer: its last line, and its object.
    func finished(_ position: Int, _ result: TaskResult) {
        self.finishedResults[position] = result
        let line = FetchText.summary(result, label: self.labels[position])
        switch self.look.progress {
        case .bar: self.above.append(line)
        case .plain: self.look.terminal.note(line)
        case .none: if result.outcome == .failure { self.look.terminal.note("tidegate: \(line)") }
        }
        if self.look.writesObjects { self.write(object: result.json.description) }
    }

    private func write(object: String) {
        // The bars' terminal is written to by the painter alone.
        if self.look.progress == .bar, self.look.writesBody || self.look.terminal.isOutputTerminal {
            self.above.append(object)
        } else if self.look.writesBody {
            self.look.terminal.note(object)
        } else if let problem = self.look.terminal.tell(object) {
            // The transfers go on: who reads the objects is not who waits for the files.
            self.outputProblem = self.outputProblem ?? problem
        }
    }

    private func heard(_ event: TaskEvent, at moment: MonotonicTime) {
        // A line after the last one would confuse.
        guard let position = self.positions[event.id], self.finishedResults[position] == nil else { return }
        let waited = self.remember(event.kind, of: position, at: moment)
        guard self.look.progress == .plain,
            let line = FetchText.line(event.kind, label: self.labels[position], waited: waited)
        else { return }
        if case .progress(let progress, _) = event.kind {
            guard self.toldResumption[position] != progress.attempt else { return }
            self.toldResumption[position] = progress.attempt
        }
        self.look.terminal.note(line)
    }

    // Gives what an attempt that starts now has waited for a path: a release alone may be the end of the transfer.
    private func remember(_ change: TaskEvent.Kind, of position: Int, at moment: MonotonicTime) -> Duration? {
        switch change {
        case .retryScheduled(_, let delay): self.retryAt[position] = moment + delay
        case .released(let reason, let after) where reason == .path || reason == .constraint:
            self.waited[position] = (self.waited[position] ?? .zero) + after
        case .attemptStarted:
            defer { self.waited[position] = nil }
            return self.waited[position]
        case .created, .resumed, .suspended, .held, .released, .gate, .responseHead, .progress, .attemptFailed,
            .attemptSucceeded, .retriesExhausted, .restarted, .refetched, .moved, .moveFailed, .completed:
            break
        }
        return nil
    }

    private func paint() {
        let now = self.time.monotonic()
        let style = self.look.terminal.progress
        var lines: [String] = []
        var queued = 0
        for position in self.tasks.indices where self.finishedResults[position] == nil {
            let info = self.tasks[position].info
            if case .waiting(.concurrency, _) = info.state {
                queued += 1
                continue
            }
            guard lines.count < 16 else { continue }
            lines.append(self.line(position, info, now, style))
        }
        if queued > 0 { lines.append("\(queued) queued") }
        self.look.terminal.draw(self.painter.paint(lines, above: self.above))
        self.above = []
    }

    private func line(_ position: Int, _ info: TaskInfo, _ now: MonotonicTime, _ style: TextStyle) -> String {
        var info = info
        if case .running = info.state {
            // Until its first bytes arrive an attempt does not say where it goes on.
            if info.progress.offset + info.progress.receivedWire == 0 { info.progress = self.kept[position] }
            self.meters[position].add(info.progress.offset + info.progress.receivedWire + info.progress.sent, at: now)
        } else {
            self.kept[position] = info.progress
            self.meters[position].reset()
        }
        return ProgressLine(
            name: self.labels[position], info: info, rate: self.meters[position].rate,
            retryIn: self.retryAt[position].map { $0 - now }
        ).text(style)
    }
}

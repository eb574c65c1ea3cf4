internal import Tidegate

/// Displays the progress of transfers on standard error, and prints their JSON objects if requested.
actor FetchProgressView {
    /// How progress is displayed.
    enum Progress: Sendable {
        case bar, plain, none
    }

    /// What is displayed, and where.
    struct Options: Sendable {
        var terminal: Terminal
        var progress: Progress = .plain
        var writesObjects = false
        /// True if a body is written to standard output, so that nothing else may be.
        var writesBody = false
    }

    private let tasks: [TransferTask]
    private let labels: [String]
    private let options: Options
    private let positions: [TaskID: Int]
    private let time: any TimeSource = SystemClock()
    private var finishedResults: [TaskResult?]
    private var meters: [RateMeter]
    private var retryAt: [MonotonicTime?]
    private var waited: [Duration?]
    /// The last attempt for which "resuming at" was printed.
    private var lastReportedResumption: [Int]
    /// The progress at the end of the last attempt.
    private var lastProgress: [TransferProgress]
    private var renderer = TerminalRenderer()
    private var above: [String] = []

    /// Why an object could not be written; nil if all were.
    private(set) var outputError: OutputError?

    /// The results in the order of the tasks, once all tasks have completed.
    var results: [TaskResult] { self.finishedResults.compactMap(\.self) }

    init(tasks: [TransferTask], labels: [String], options: Options) {
        self.tasks = tasks
        self.labels = labels
        self.options = options
        self.positions = Dictionary(
            tasks.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.finishedResults = tasks.map { _ in nil }
        self.meters = tasks.map { _ in RateMeter() }
        self.retryAt = tasks.map { _ in nil }
        self.waited = tasks.map { _ in nil }
        self.lastReportedResumption = tasks.map { _ in 0 }
        self.lastProgress = tasks.map { _ in TransferProgress() }
    }

    /// Follows the transfers until the Swift task is cancelled.
    func follow(_ bus: EventBus) async {
        let changes = bus.subscribe(.watch, bufferingNewest: 4096) { event in
            guard case .task(let task) = event.payload else { return false }
            // An attempt's first progress event says where it resumed; the bars read all other progress themselves.
            if case .progress(let progress, _) = task.kind { return progress.offset > 0 }
            return true
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in changes {
                    if case .task(let task) = event.payload { await self.handle(task, at: event.moment) }
                }
            }
            if self.options.progress == .bar {
                group.addTask {
                    while (try? await Task.sleep(for: .milliseconds(100))) != nil { await self.render() }
                }
            }
        }
        if self.options.progress == .bar { self.render() }
    }

    /// Reports the result of a transfer: its last line, and its object.
    func didFinish(_ position: Int, _ result: TaskResult) {
        self.finishedResults[position] = result
        let line = FetchText.summary(result, label: self.labels[position])
        switch self.options.progress {
        case .bar: self.above.append(line)
        case .plain: self.options.terminal.printError(line)
        case .none: if result.outcome == .failure { self.options.terminal.printError("tidegate: \(line)") }
        }
        if self.options.writesObjects { self.write(object: result.json.description) }
    }

    private func write(object: String) {
        // With bars only the renderer writes to the terminal.
        if self.options.progress == .bar, self.options.writesBody || self.options.terminal.isOutputTerminal {
            self.above.append(object)
        } else if self.options.writesBody {
            self.options.terminal.printError(object)
        } else if let error = self.options.terminal.tryPrint(object) {
            // The transfers continue: the files are still wanted.
            self.outputError = self.outputError ?? error
        }
    }

    private func handle(_ event: TaskEvent, at moment: MonotonicTime) {
        // Nothing is printed for a transfer after its last line.
        guard let position = self.positions[event.id], self.finishedResults[position] == nil else { return }
        let waited = self.record(event.kind, of: position, at: moment)
        guard self.options.progress == .plain,
            let line = FetchText.line(event.kind, label: self.labels[position], waited: waited)
        else { return }
        if case .progress(let progress, _) = event.kind {
            guard self.lastReportedResumption[position] != progress.attempt else { return }
            self.lastReportedResumption[position] = progress.attempt
        }
        self.options.terminal.printError(line)
    }

    // Returns how long an attempt that starts now has waited for a path. Only then: after a release the transfer may
    // also end without another attempt.
    private func record(_ change: TaskEvent.Kind, of position: Int, at moment: MonotonicTime) -> Duration? {
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

    private func render() {
        let now = self.time.monotonic()
        let style = self.options.terminal.errorStyle
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
        self.options.terminal.draw(self.renderer.render(lines, above: self.above))
        self.above = []
    }

    private func line(_ position: Int, _ info: TaskInfo, _ now: MonotonicTime, _ style: TextStyle) -> String {
        var info = info
        if case .running = info.state {
            // Until its first bytes arrive an attempt reports no offset.
            if info.progress.offset + info.progress.receivedWire == 0 { info.progress = self.lastProgress[position] }
            self.meters[position].add(info.progress.offset + info.progress.receivedWire + info.progress.sent, at: now)
        } else {
            self.lastProgress[position] = info.progress
            self.meters[position].reset()
        }
        return ProgressLine(
            name: self.labels[position], info: info, rate: self.meters[position].rate,
            retryIn: self.retryAt[position].map { $0 - now }
        ).text(style)
    }
}

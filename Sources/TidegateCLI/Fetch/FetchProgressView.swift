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

    private var transfers: [TransferDisplay]
    private let options: Options
    private let positions: [TaskID: Int]
    private let time: any TimeSource = SystemClock()
    private var renderer = TerminalRenderer()
    private var above: [String] = []

    /// Why an object could not be written; nil if all were.
    private(set) var outputError: OutputError?

    /// The results in the order of the tasks, once all tasks have completed.
    var results: [TaskResult] { self.transfers.compactMap(\.result) }

    init(tasks: [TransferTask], labels: [String], options: Options) {
        self.transfers = zip(tasks, labels).map { TransferDisplay(task: $0, label: $1) }
        self.options = options
        self.positions = Dictionary(tasks.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
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
        let line = self.transfers[position].finish(result)
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
        guard let position = self.positions[event.id],
            let line = self.transfers[position].line(for: event.kind, at: moment), self.options.progress == .plain
        else { return }
        self.options.terminal.printError(line)
    }

    private func render() {
        let now = self.time.monotonic()
        var lines: [String] = []
        var queued = 0
        for position in self.transfers.indices where self.transfers[position].result == nil {
            let info = self.transfers[position].task.info
            if case .waiting(.concurrency, _) = info.state {
                queued += 1
            } else if lines.count < 16 {
                lines.append(self.transfers[position].bar(info, at: now).text(self.options.terminal.errorStyle))
            }
        }
        if queued > 0 { lines.append("\(queued) queued") }
        self.options.terminal.draw(self.renderer.render(lines, above: self.above))
        self.above = []
    }
}

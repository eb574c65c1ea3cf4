internal import Tidegate

/// Displays the progress of transfers on standard error, and prints their JSON objects if requested.
actor FetchProgressView {
    /// What is displayed, and where.
    struct Options: Sendable {
        var terminal: Terminal
        /// Any style but `auto`.
        var progress = FetchCommand.ProgressStyle.plain
        var writesObjects = false
        /// True if a body is written to standard output, which must receive nothing else.
        var writesBody = false
        /// What is printed about exchanges; nil for nothing.
        var exchanges: ExchangeText?

        /// True if the result of a transfer is displayed.
        func shows(_ result: TaskResult) -> Bool {
            self.progress != .none || self.writesObjects || self.exchanges != nil || result.outcome != .success
        }
    }

    private let feed: FetchFeed
    /// Decides when a spinner is worth showing; nil without bars.
    private let indicator: ActivityIndicator?
    private var options: Options
    private let time: any TimeSource = SystemClock()
    private var displays: [TaskID: TransferDisplay] = [:]
    private var renderer = TerminalRenderer()
    private var above: [String] = []
    // What slowed connections when they were last watched, by the remote's address.
    private var slow: [IPAddress: SlowCause] = [:]

    /// The maximum number of bars.
    private static let bars = 16

    /// Why a JSON object could not be written; nil if all were.
    private(set) var outputError: OutputError?

    init(_ feed: FetchFeed, _ session: Session, _ options: Options) {
        self.feed = feed
        self.options = options
        self.indicator = options.progress == .bar ? ActivityIndicator(session) : nil
    }

    /// Follows the transfers until the Swift task is cancelled.
    func follow(_ bus: EventBus) async {
        guard self.options.progress != .none || self.options.exchanges != nil else { return }
        let changes = bus.subscribe(.watch, bufferingNewest: 4096) { event in
            if case .session(.storedResponseDropped) = event.payload { return true }
            guard case .task(let task) = event.payload else { return false }
            // An attempt's first progress event has the offset at which it resumed; the bars read all other progress
            // themselves.
            if case .progress(let progress, _) = task.kind { return progress.offset > 0 }
            return true
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in changes {
                    switch event.payload {
                    case .task(let task): await self.handle(task, at: event.moment)
                    case .session(let session): await self.report(session.sentence)
                    default: break
                    }
                }
            }
            group.addTask {
                while (try? await Task.sleep(for: .milliseconds(100))) != nil { await self.refresh() }
            }
        }
        if self.options.progress == .bar { self.render() }
    }

    /// Watches what slows connections, until the Swift task is cancelled.
    func watchConnections(of monitor: Monitor) async {
        while (try? await Task.sleep(for: .milliseconds(500))) != nil {
            let slow = await monitor.slowConnections()
            if !Task.isCancelled { self.slow = slow }
        }
    }

    /// Reports a finished transfer: its exchanges, its last line, and its JSON object.
    func didFinish(_ end: FetchFeed.Ended, kept: Int64?) {
        let result = end.result
        self.displays[result.id] = nil
        self.showExchanges(of: end.task, isOver: true)
        self.options.exchanges?.forget(result.id)
        let line = FetchText.summary(
            result, label: end.item.label(naming: result.file), kept: kept, whole: end.task.info.progress.expected)
        switch self.options.progress {
        case .bar: self.above.append(line)
        case .plain: self.options.terminal.printError(line)
        case .none, .auto:
            let isShown = result.outcome == .failure || kept != nil
            if isShown { self.options.terminal.printError("tidegate: \(line)") }
        }
        if self.options.writesObjects { self.write(object: result.json.description) }
    }

    // With bars only the renderer writes to the terminal.
    private func showExchanges(of task: TransferTask, isOver: Bool = false) {
        let exchanges = task.exchanges
        guard var lines = self.options.exchanges?.newLines(of: exchanges, task.id) else { return }
        if isOver, let summary = exchanges.last?.summary, let share = FetchText.largestShare(of: summary) {
            let cause = summary.remote.flatMap { self.slow[$0] }.map { ": \(Cause.slow($0))" }
            lines.append("* \(share)\(cause ?? "")")
        }
        if self.options.progress == .bar { return self.above += lines.map(TextStyle.escapingControls) }
        for line in lines { self.options.terminal.printError(line) }
    }

    /// Prints a line that does not belong to a transfer, above any bars.
    func report(_ message: String) {
        let line = "tidegate: \(message)"
        if self.options.progress == .bar { self.above.append(line) } else { self.options.terminal.printError(line) }
    }

    private func write(object: String) {
        // With bars only the renderer writes to the terminal.
        if self.options.progress == .bar, self.options.writesBody || self.options.terminal.isOutputTerminal {
            self.above.append(object)
        } else if self.options.writesBody {
            self.options.terminal.printError(object)
        } else if self.outputError == nil {
            // The transfers continue, because the files are still wanted.
            self.outputError = self.options.terminal.tryPrint(object)
        }
    }

    private func handle(_ event: TaskEvent, at moment: MonotonicTime) {
        // A transfer that has ended already has its last line.
        guard let label = self.feed.label(of: event.id) else { return }
        let line = self.displays[event.id, default: TransferDisplay(label: label)].line(for: event.kind, at: moment)
        if let line, self.options.progress == .plain { self.options.terminal.printError(line) }
    }

    private func refresh() {
        if self.options.exchanges != nil {
            for transfer in self.feed.transfers { self.showExchanges(of: transfer.task) }
        }
        if self.options.progress == .bar { return self.render() }
        guard self.options.progress == .plain else { return }
        for transfer in self.feed.transfers {
            let info = transfer.task.info
            let line = self.displays[transfer.task.id, default: TransferDisplay(label: transfer.item.label)]
                .line(showing: info)
            if let line { self.options.terminal.printError(line) }
        }
    }

    private func render() {
        let now = self.time.monotonic()
        let transfers = self.feed.transfers
        // A transfer that ended after it was drawn has no event left that would remove it.
        if self.displays.count > transfers.count {
            let ids = Set(transfers.map(\.task.id))
            self.displays = self.displays.filter { ids.contains($0.key) }
        }
        let spinner = self.indicator?.isActive == true ? Spinner(at: now) : nil
        var lines: [String] = []
        var hidden = 0
        for transfer in transfers {
            let info = transfer.task.info
            if case .waiting(.concurrency, _) = info.state { continue }
            guard lines.count < Self.bars else {
                hidden += 1
                continue
            }
            let line = self.displays[transfer.task.id, default: TransferDisplay(label: transfer.item.label)]
                .bar(info, at: now, spinner).text(self.options.terminal.errorStyle)
            lines.append(line)
        }
        if hidden > 0 { lines.append("\(hidden) more under way\(spinner.map { " \($0.text)" } ?? "")") }
        let tally = self.feed.tally
        if tally.count > Self.bars, !lines.isEmpty {
            lines.append("\(tally.count - tally.failed) done, \(tally.failed) failed")
        }
        self.options.terminal.draw(self.renderer.render(lines, above: self.above))
        self.above = []
    }
}

internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// Runs the transfers of a plan, displays their progress, and cancels them on a signal.
struct FetchRun: Sendable {
    private let plan: FetchPlan
    private let options: FetchOptions
    private let terminal: Terminal

    init(plan: FetchPlan, options: FetchOptions, terminal: Terminal) {
        self.plan = plan
        self.options = options
        self.terminal = terminal
    }

    func run() async throws {
        try self.options.network.authority.check()
        try self.checkFiles()
        let requests = try self.requests()
        let monitor: Monitor
        do {
            var reachability = ReachabilityConfiguration()
            reachability.internetCheck = self.plan.internetCheck
            monitor = try Monitor(MonitorConfiguration(reachability: reachability, session: self.plan.session))
        } catch {
            throw CommandError(.usage, "cannot start transfers: \(error)")
        }
        let tasks = requests.map { monitor.session.makeTask($0) }
        let view = FetchProgressView(tasks: tasks, labels: self.plan.items.map(\.label), options: self.viewOptions)
        let signal = CapturedSignal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await view.follow(monitor.bus) }
            group.addTask {
                await Signals.onInterrupt { number in
                    // A second signal exits without waiting for the transfers to end.
                    if signal.number != nil { exit(ExitStatus.signal(number).number) }
                    signal.set(number)
                    // In a task of its own, so that a second signal is handled meanwhile. Returns even if a disk hangs.
                    Task { await monitor.session.invalidate(cancellingTasks: true) }
                }
            }
            await self.finish(tasks, view)
            group.cancelAll()
        }
        await monitor.stop()
        if let error = await self.error(view.results, signal: signal.number) { throw error }
        if let error = await view.outputError { throw CommandError(.no, error.message) }
    }

    private func finish(_ tasks: [TransferTask], _ view: FetchProgressView) async {
        await withTaskGroup(of: Void.self) { group in
            for (position, task) in tasks.enumerated() {
                task.resume()
                group.addTask { await view.didFinish(position, await task.result()) }
            }
        }
    }

    // Descriptors stay open until the program ends.
    private func requests() throws(CommandError) -> [TaskRequest] {
        var requests: [TaskRequest] = []
        for item in self.plan.items {
            var request = item.request
            if let stream = item.stream { request.destination = .descriptor(try DestinationCheck.open(stream: stream)) }
            requests.append(request)
        }
        return requests
    }

    private func checkFiles() throws(CommandError) {
        for item in self.plan.items {
            if let problem = item.request.fileProblem { throw CommandError(.no, problem) }
        }
    }

    private var viewOptions: FetchProgressView.Options {
        var options = FetchProgressView.Options(terminal: self.terminal)
        options.writesObjects = self.options.writeOut == .json
        options.writesBody = self.plan.writesBody
        switch self.options.quiet ? .none : self.options.progress {
        case .bar: options.progress = .bar
        case .plain: options.progress = .plain
        case .none: options.progress = .none
        case .auto:
            // Progress would be interleaved with a body on the same terminal.
            let isMixed = self.plan.writesBody && self.terminal.isOutputTerminal
            options.progress = isMixed ? .none : self.terminal.isErrorTerminal ? .bar : .plain
        }
        return options
    }

    private func error(_ results: [TaskResult], signal: Int32?) -> CommandError? {
        if let signal {
            for line in self.partialFileLines(results) { self.terminal.printError("tidegate: \(line)") }
            return CommandError(.signal(signal))
        }
        return FetchRun.error(for: results)
    }

    /// The exit status of `fetch` for these results; nil if every transfer succeeded.
    static func error(for results: [TaskResult]) -> CommandError? {
        let bad = results.filter { $0.outcome != .success }
        guard let first = bad.first else { return nil }
        if bad.allSatisfy({ $0.failure == .gateTimeout }) { return CommandError(.gaveUp, FetchText.gaveUp(first)) }
        return CommandError(.no, results.count > 1 ? "\(bad.count) of \(results.count) transfers failed" : nil)
    }

    // What a later run can resume with --continue.
    private func partialFileLines(_ results: [TaskResult]) -> [String] {
        zip(self.plan.items, results).compactMap { item, result in
            guard result.outcome == .cancelled, let file = item.request.temporaryFile else { return nil }
            guard let size = DestinationCheck.size(of: file), size > 0 else {
                return "no partial file of \(item.label)"
            }
            return "kept \(ByteText(size)) of \(item.label); resume with --continue"
        }
    }
}

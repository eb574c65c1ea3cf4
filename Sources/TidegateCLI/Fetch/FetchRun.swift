internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// Carries out a plan: starts the transfers, shows them, and ends them when a signal asks for it.
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
        try self.options.line.authority.check()
        try self.checkFiles()
        let requests = try self.requests()
        let monitor: Monitor
        do {
            var reachability = ReachabilityConfiguration()
            reachability.internetCheck = self.plan.internetCheck
            monitor = try Monitor(MonitorConfiguration(reachability: reachability, session: self.plan.session))
        } catch {
            throw Ending(.usage, "transfers cannot be made: \(error)")
        }
        let tasks = requests.map { monitor.session.makeTask($0) }
        let screen = FetchProgressView(tasks: tasks, labels: self.plan.items.map(\.label), look: self.look)
        let signal = CapturedSignal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await screen.follow(monitor.bus) }
            group.addTask {
                await Signals.onInterrupt { number in
                    // Whoever asks twice does not want to wait for an orderly end.
                    if signal.number != nil { exit(Ending.Code.signal(number).number) }
                    signal.set(number)
                    // Beside this: who asks twice must be heard. It ends in time also where the disk does not answer.
                    Task { await monitor.session.invalidate(cancellingTasks: true) }
                }
            }
            await self.finish(tasks, on: screen)
            group.cancelAll()
        }
        await monitor.stop()
        if let ending = await self.ending(screen.results, signal: signal.number) { throw ending }
        if let problem = await screen.outputProblem { throw Ending(.no, problem.sentence) }
    }

    private func finish(_ tasks: [TransferTask], on screen: FetchProgressView) async {
        await withTaskGroup(of: Void.self) { group in
            for (position, task) in tasks.enumerated() {
                task.resume()
                group.addTask { await screen.finished(position, await task.result()) }
            }
        }
    }

    // Descriptors stay open until the program ends.
    private func requests() throws(Ending) -> [TaskRequest] {
        var requests: [TaskRequest] = []
        for item in self.plan.items {
            var request = item.request
            if let stream = item.stream { request.destination = .descriptor(try DestinationCheck.open(stream: stream)) }
            requests.append(request)
        }
        return requests
    }

    private func checkFiles() throws(Ending) {
        for item in self.plan.items {
            guard let file = item.file, let problem = DestinationCheck.problem(writing: file) else { continue }
            throw Ending(.no, problem)
        }
        if let file = self.options.request.message.uploadFile,
            let problem = DestinationCheck.problem(reading: file)
        {
            throw Ending(.no, problem)
        }
    }

    private var look: FetchProgressView.Look {
        var look = FetchProgressView.Look(terminal: self.terminal)
        look.writesObjects = self.options.writeOut == .json
        look.writesBody = self.plan.writesBody
        switch self.options.quiet ? .none : self.options.progress {
        case .bar: look.progress = .bar
        case .plain: look.progress = .plain
        case .none: look.progress = .none
        case .auto:
            // A body on the same terminal would be torn apart.
            let isMixed = self.plan.writesBody && self.terminal.isOutputTerminal
            look.progress = isMixed ? .none : self.terminal.isErrorTerminal ? .bar : .plain
        }
        return look
    }

    private func ending(_ results: [TaskResult], signal: Int32?) -> Ending? {
        if let signal {
            for line in self.keptLines(results) { self.terminal.note("tidegate: \(line)") }
            return Ending(.signal(signal))
        }
        return FetchRun.ending(of: results)
    }

    /// How `fetch` ends after these results; nil when every transfer is done.
    static func ending(of results: [TaskResult]) -> Ending? {
        let bad = results.filter { $0.outcome != .success }
        guard let first = bad.first else { return nil }
        if bad.allSatisfy({ $0.failure == .gateTimeout }) { return Ending(.gaveUp, FetchText.gaveUp(first)) }
        return Ending(.no, results.count > 1 ? "\(bad.count) of \(results.count) transfers failed" : nil)
    }

    // What a later run with --continue goes on with.
    private func keptLines(_ results: [TaskResult]) -> [String] {
        zip(self.plan.items, results).compactMap { item, result in
            guard result.outcome == .cancelled, let file = item.file else { return nil }
            let folder = DestinationCheck.folder(of: file)
            let part = "\(folder == "." ? "" : "\(folder)/").\(item.label).tidegate"
            guard let size = DestinationCheck.size(of: part), size > 0 else {
                return "nothing was kept of \(item.label)"
            }
            return "kept \(ByteText(size)) of \(item.label): go on with --continue"
        }
    }
}

internal import ArgumentParser
internal import Tidegate
internal import TidegateServer

/// `tidegate tasks wait`.
struct TasksWaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until tasks are over; the exit status says how they ended.",
        discussion: """
            A restart of the daemon is waited for, up to 30 seconds: the tasks go on after it.

            Examples:
              tidegate tasks submit https://example.com/big.iso -o big.iso --key iso && tidegate tasks wait iso
              tidegate tasks wait iso --timeout 1h

            Exit status: 0 if every task is done; of several the worst: 2 for usage errors, 1 if a task failed, was \
            cancelled or does not exist, or if no daemon answers; 3 if it is not known whether a request was carried \
            out; 75 if a task gave up waiting for a path, or if it was not over within --timeout.
            """)

    @Argument(help: .value("task", "Tasks: keys, names, ids or unambiguous beginnings of ids."))
    var tasks: [String]

    @Option(help: .value("duration", "Maximum time to wait; 0 asks once, inf waits forever."))
    var timeout = "inf"

    @OptionGroup var control: ControlOptions

    func validate() throws {
        _ = try OptionParsing.duration(self.timeout, of: "--timeout")
    }

    func run() async throws {
        let limit = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        let wait = TaskWait(control: self.control, limit: limit)
        var worst: ExitStatus?
        do {
            try await self.control.forEach(self.tasks) { id throws(ControlClientError) in
                guard let status = try await wait.end(of: id) else { return }
                worst = worst.map { $0.worse(than: status) } ?? status
            }
        } catch let error as CommandError {
            throw CommandError(worst.map { $0.worse(than: error.status) } ?? error.status, error.message)
        }
        if let worst { throw CommandError(worst) }
    }
}

/// Waits until tasks are over by polling the daemon.
struct TaskWait {
    let control: ControlOptions
    private let start = ContinuousClock.now
    private let limit: Duration?
    private let terminal = Terminal()
    private let line: RefreshedLine

    // Long enough for a restarted daemon to open its socket again.
    private static let patience = Duration.seconds(30)

    /// Waits up to `limit` from now, for all tasks together; nil waits forever.
    init(control: ControlOptions, limit: Duration?) {
        self.control = control
        self.limit = limit
        self.line = RefreshedLine(self.terminal, isShown: !control.output.quiet && self.terminal.isErrorTerminal)
    }

    /// Waits until a task is over and prints its result; returns the exit status, nil for success.
    func end(of id: String) async throws(ControlClientError) -> ExitStatus? {
        defer { self.line.clear() }
        var lastAnswer = ContinuousClock.now
        var interval = Duration.milliseconds(50)
        while true {
            do throws(ControlClientError) {
                let reply = try await self.control.client.task(id)
                lastAnswer = .now
                if self.isConcluded(by: reply) {
                    return reply.value.outcome == nil ? .gaveUp : ExitStatus(endOf: reply.value)
                }
            } catch {
                // The group of a new socket may be set only a moment later.
                let isGone = [.noDaemon, .notAllowed, .disconnected].contains(error.reason)
                guard isGone, ContinuousClock.now - lastAnswer < TaskWait.patience, !self.isOver else { throw error }
                self.line.show("waiting \(self.elapsed) for the daemon to come back")
            }
            // Cancelled only when the program exits.
            let rest = self.limit.map { max(.milliseconds(1), $0 - (ContinuousClock.now - self.start)) }
            try? await Task.sleep(for: min(interval, rest ?? .seconds(60)))
            interval = min(interval * 2, .milliseconds(500))
        }
    }

    private func isConcluded(by reply: ControlReply<TaskDocument>) -> Bool {
        let task = reply.value
        let text = "\(task.id) \(TaskText.summary(task, at: SystemClock().wall()))"
        if task.outcome == nil, !self.isOver {
            let name = (task.key ?? task.name ?? task.id).escapingControls
            self.line.show("waiting \(self.elapsed) for \(name): \(TaskText.summary(task, at: SystemClock().wall()))")
            return false
        }
        self.line.clear()
        if task.outcome == nil, !self.control.output.json {
            self.terminal.printError("tidegate: not over yet: \(text)")
        } else if self.control.output.quiet, task.outcome != TaskOutcome.success.rawValue {
            self.terminal.print(text)
        } else {
            self.control.show(reply) { TaskText.summary($0, at: SystemClock().wall()) }
        }
        return true
    }

    private var elapsed: String { Duration.seconds((.now - self.start).components.seconds).shortText }

    private var isOver: Bool { self.limit.map { ContinuousClock.now - self.start >= $0 } ?? false }
}

extension ExitStatus {
    /// The exit status for a finished task; nil for success.
    init?(endOf task: TaskDocument) {
        switch (TaskText.State(task), task.reason.flatMap { TaskFailure(rawValue: $0) }) {
        case (.done, _): return nil
        case (.failed, .gateTimeout): self = .gaveUp
        case (.failed, .outcomeUnknown): self = .unknown
        default: self = .no
        }
    }
}

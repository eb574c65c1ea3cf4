/// The state machine of `run`: when the command runs, when it is retried, and the program's exit status.
struct RunMachine: Sendable {
    enum Input: Sendable, Hashable {
        /// The gate opened.
        case opened
        /// The gate did not open in time; contains the unmet condition.
        case gaveUp(String)
        /// The command exited with this status, or 128 + n for signal n.
        case exited(Int32)
        /// The command could not be started.
        case startFailed(CommandError)
        /// The path was lost or moved; contains a description.
        case lost(String)
        /// The grace time, in which a path loss still explains a failure, has ended.
        case graceExpired
        /// This process received a signal.
        case signal(Int32)
    }

    enum Effect: Sendable, Hashable {
        /// Wait for the gate.
        case wait
        /// Start the command.
        case start
        /// Forward the signal to the command.
        case forward(Int32)
        /// Report ``Input/graceExpired`` after ``grace``.
        case startGrace
        /// Print a line to standard error.
        case print(String)
        /// Exit with this status and, unless it is nil, this last line.
        case exit(Int32, String?)
    }

    private enum State: Sendable, Hashable {
        case waiting
        case running(lost: String?, signal: Int32?)
        /// The command failed with this status; a path loss within the grace time still explains it.
        case failed(Int32)
        case finished
    }

    /// How long after a failure a path loss still explains it.
    static let grace: Duration = .seconds(2)

    // The exit statuses of a command terminated by SIGHUP, SIGINT, SIGQUIT or SIGTERM (signal(7)).
    private static let interruptedStatuses: Set<Int32> = [129, 130, 131, 143]

    private var state = State.waiting
    private var retries = 0
    private let retryLimit: Int

    init(retryLimit: Int) { self.retryLimit = retryLimit }

    mutating func handle(_ input: Input) -> [Effect] {
        switch (self.state, input) {
        case (.waiting, .opened):
            self.state = .running(lost: nil, signal: nil)
            return [.start]
        case (.waiting, .gaveUp(let message)): return self.finish(ExitStatus.gaveUp.number, message)
        case (.waiting, .signal(let number)), (.failed, .signal(let number)):
            return self.finish(ExitStatus.signal(number).number, nil)
        case (.running(let lost, let signal), .lost(let description)):
            self.state = .running(lost: lost ?? description, signal: signal)
            return []
        case (.running(let lost, _), .signal(let number)):
            self.state = .running(lost: lost, signal: number)
            return [.forward(number)]
        case (.running, .startFailed(let error)): return self.finish(error.status.number, error.message)
        case (.running(let lost, let signal), .exited(let code)): return self.exited(code, lost: lost, signal: signal)
        case (.failed(let code), .lost(let description)): return self.retry(code, because: description)
        case (.failed(let code), .graceExpired): return self.finish(code, nil)
        default: return []
        }
    }

    private mutating func exited(_ code: Int32, lost: String?, signal: Int32?) -> [Effect] {
        // An interrupted command has not failed; the terminal may have signalled it directly.
        guard code != 0, signal == nil, !RunMachine.interruptedStatuses.contains(code) else {
            return self.finish(code, nil)
        }
        if let lost { return self.retry(code, because: lost) }
        // Without a retry left, waiting for a loss is pointless.
        guard self.retries < self.retryLimit else { return self.finish(code, nil) }
        self.state = .failed(code)
        return [.startGrace]
    }

    private mutating func retry(_ code: Int32, because lost: String) -> [Effect] {
        let message = "command exited with status \(code) while the path was lost (\(lost))"
        guard self.retries < self.retryLimit else {
            return self.finish(code, self.retryLimit > 0 ? "\(message); no retries left" : nil)
        }
        self.retries += 1
        self.state = .waiting
        return [.print("\(message); retry \(self.retries) of \(self.retryLimit)"), .wait]
    }

    private mutating func finish(_ code: Int32, _ message: String?) -> [Effect] {
        self.state = .finished
        return [.exit(code, message)]
    }
}

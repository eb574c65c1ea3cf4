/// Decides about a command behind a gate: when it runs, when again, and how the whole ends.
struct RunMachine: Sendable {
    /// What happened.
    enum Input: Sendable, Hashable {
        /// The gate opened.
        case opened
        /// The gate did not open in time; what is missing.
        case gaveUp(String)
        /// The command ended with this code, 128 + n for a signal.
        case ended(Int32)
        /// The command could not be started.
        case notStarted(Ending)
        /// The path was lost, or moved; in words.
        case lost(String)
        /// The time after a failure in which a loss still explains it is over.
        case graceOver
        /// Somebody wants the end.
        case signal(Int32)
    }

    /// What to do.
    enum Effect: Sendable, Hashable {
        /// Wait for the gate.
        case wait
        /// Start the command.
        case start
        /// Give the signal to the command.
        case forward(Int32)
        /// Say ``Input/graceOver`` in ``grace`` from now.
        case startGrace
        /// Tell people.
        case note(String)
        /// End with this code and, where there is one, this last line.
        case finish(Int32, String?)
    }

    private enum State: Sendable, Hashable {
        case waiting
        case running(lost: String?, signal: Int32?)
        /// It failed with this code, and nothing explains that yet.
        case failed(Int32)
        case finished
    }

    /// How long after a failure a loss of the path still explains it.
    static let grace: Duration = .seconds(2)

    // SIGHUP, SIGINT, SIGQUIT and SIGTERM (signal(7)).
    private static let endsByWish: Set<Int32> = [129, 130, 131, 143]

    private var state = State.waiting
    private var retries = 0
    private let retryLimit: Int

    init(retryLimit: Int) { self.retryLimit = retryLimit }

    mutating func handle(_ input: Input) -> [Effect] {
        switch self.state {
        case .waiting: self.whileWaiting(input)
        case .running(let lost, let signal): self.whileRunning(input, lost: lost, signal: signal)
        case .failed(let code): self.whileFailed(input, code: code)
        case .finished: []
        }
    }

    private mutating func whileWaiting(_ input: Input) -> [Effect] {
        switch input {
        case .opened:
            self.state = .running(lost: nil, signal: nil)
            return [.start]
        case .gaveUp(let missing): return self.finish(Ending.Code.gaveUp.number, missing)
        case .signal(let number): return self.finish(Ending.Code.signal(number).number, nil)
        case .ended, .notStarted, .lost, .graceOver: return []
        }
    }

    private mutating func whileRunning(_ input: Input, lost: String?, signal: Int32?) -> [Effect] {
        switch input {
        case .lost(let words):
            self.state = .running(lost: lost ?? words, signal: signal)
            return []
        case .signal(let number):
            self.state = .running(lost: lost, signal: number)
            return [.forward(number)]
        case .notStarted(let ending): return self.finish(ending.code.number, ending.message)
        case .ended(let code):
            // Who was asked to end has ended; that is no failure to repeat. The keyboard may have asked it directly.
            guard code != 0, signal == nil, !RunMachine.endsByWish.contains(code) else {
                return self.finish(code, nil)
            }
            if let lost { return self.retry(code, because: lost) }
            // Without a retry left, a loss would change nothing.
            guard self.retries < self.retryLimit else { return self.finish(code, nil) }
            self.state = .failed(code)
            return [.startGrace]
        case .opened, .gaveUp, .graceOver: return []
        }
    }

    private mutating func whileFailed(_ input: Input, code: Int32) -> [Effect] {
        switch input {
        case .lost(let words): return self.retry(code, because: words)
        case .graceOver: return self.finish(code, nil)
        case .signal(let number): return self.finish(Ending.Code.signal(number).number, nil)
        case .opened, .gaveUp, .ended, .notStarted: return []
        }
    }

    private mutating func retry(_ code: Int32, because lost: String) -> [Effect] {
        let what = "the command ended with \(code) while the path was lost (\(lost))"
        guard self.retries < self.retryLimit else {
            return self.finish(code, self.retryLimit > 0 ? "\(what); no retry is left" : nil)
        }
        self.retries += 1
        self.state = .waiting
        return [.note("\(what): retry \(self.retries) of \(self.retryLimit)"), .wait]
    }

    private mutating func finish(_ code: Int32, _ message: String?) -> [Effect] {
        self.state = .finished
        return [.finish(code, message)]
    }
}

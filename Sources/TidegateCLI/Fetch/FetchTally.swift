internal import Tidegate

/// How the transfers of a run ended, counted.
struct FetchTally: Sendable, Hashable {
    /// All that ended, and the lines that were no URL.
    private(set) var count = 0
    private(set) var failed = 0
    /// Those of the failed that found no path in time.
    private var gaveUp = 0
    /// The last failure that was no transfer's: the list could not be read to its end.
    private var isCutShort = false

    mutating func add(_ result: TaskResult) {
        self.count += 1
        guard result.outcome != .success else { return }
        self.failed += 1
        if result.failure == .gateTimeout { self.gaveUp += 1 }
    }

    /// A URL that cannot be transferred.
    mutating func addRefused() {
        self.count += 1
        self.failed += 1
    }

    /// The list could not be read to its end.
    mutating func cutShort() { self.isCutShort = true }

    /// The exit status of the run; nil if every transfer succeeded.
    ///
    /// Each failure has been told in a line of its own, so that only the number of several is left to say.
    var error: CommandError? {
        guard self.failed > 0 else { return self.isCutShort ? CommandError(.no) : nil }
        if self.gaveUp == self.failed, !self.isCutShort {
            return CommandError(.gaveUp, self.message("gave up waiting for a path"))
        }
        return CommandError(.no, self.message("failed"))
    }

    private func message(_ what: String) -> String? {
        self.count > 1 ? "\(self.failed) of \(self.count) transfers \(what)" : nil
    }
}

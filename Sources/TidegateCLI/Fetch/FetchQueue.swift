internal import Tidegate

/// Which transfers of a list are next, and how many there are: the rules of ``FetchFeed``, without tasks or threads.
struct FetchQueue: Sendable {
    /// How many transfers are planned ahead.
    static let lookAhead = 256
    /// How many ends may wait to be reported: whoever reports them may be slower than the transfers.
    static let unreportedLimit = 256

    private let limit: Int
    private var ready: [FetchPlan.Item] = []
    private var head = 0
    private var active = 0
    private var unreported = 0
    private var isComplete = false
    /// True once nothing is started any more.
    private(set) var isStopped = false
    var tally = FetchTally()

    /// A queue that keeps `limit` transfers under way.
    init(limit: Int) { self.limit = limit }

    private var waiting: Int { self.ready.count - self.head }

    /// True if the list need not be read any further for now.
    var isFull: Bool { self.waiting >= Self.lookAhead && !self.isStopped }

    /// True if the list is to be read on.
    var needsMore: Bool { self.waiting < Self.lookAhead / 2 || self.isStopped }

    /// True once every transfer has ended and was reported.
    var isOver: Bool {
        self.active == 0 && self.unreported == 0 && (self.isStopped || self.isComplete && self.waiting == 0)
    }

    mutating func add(_ item: FetchPlan.Item) { self.ready.append(item) }

    /// The transfer to start now; nil if none may be.
    mutating func next() -> FetchPlan.Item? {
        guard !self.isStopped, self.waiting > 0, self.active < self.limit, self.unreported < Self.unreportedLimit else {
            return nil
        }
        let item = self.ready[self.head]
        self.head += 1
        self.active += 1
        if self.head == self.ready.count || self.head >= Self.lookAhead {
            self.ready.removeFirst(self.head)
            self.head = 0
        }
        return item
    }

    /// A transfer has ended, and will be reported or not.
    mutating func ended(_ result: TaskResult, isReported: Bool) {
        self.active -= 1
        self.tally.add(result)
        if isReported { self.unreported += 1 }
    }

    mutating func reported() { self.unreported -= 1 }

    /// Nothing is added any more.
    mutating func complete() { self.isComplete = true }

    mutating func stop() { self.isStopped = true }
}

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

internal import Synchronization
internal import Tidegate

/// Starts the transfers of a list as others end, so that only a bounded number of them is in memory.
///
/// A transfer that ends starts the next one on the session's thread, which costs no change of threads.
final class FetchFeed: Sendable {
    /// A transfer under way.
    struct Transfer: Sendable {
        let task: TransferTask
        let item: FetchPlan.Item
        /// Its place in the list.
        let position: Int
    }

    /// A transfer that has ended.
    struct Ended: Sendable {
        let task: TransferTask
        let item: FetchPlan.Item
        let result: TaskResult
    }

    private struct State {
        var queue: FetchQueue
        var started = 0
        var transfers: [TaskID: Transfer] = [:]
        /// The reader of the list, while enough is ready.
        var reader: CheckedContinuation<Void, Never>?
        /// Who waits for the end of all.
        var end: CheckedContinuation<Void, Never>?
    }

    private let session: Session
    private let isReported: @Sendable (TaskResult) -> Bool
    private let ends: AsyncStream<Ended>.Continuation
    private let state: Mutex<State>

    /// A feed that keeps `limit` transfers under way; the ends that `isReported` asks for go to `ends`, whose reader
    /// calls ``reported()`` after each.
    init(
        _ session: Session, limit: Int, ends: AsyncStream<Ended>.Continuation,
        isReported: @escaping @Sendable (TaskResult) -> Bool
    ) {
        self.session = session
        self.isReported = isReported
        self.ends = ends
        self.state = Mutex(State(queue: FetchQueue(limit: limit)))
    }

    var tally: FetchTally { self.state.withLock { $0.queue.tally } }

    /// True once nothing is started any more.
    var isStopped: Bool { self.state.withLock { $0.queue.isStopped } }

    /// The transfers under way, in the order of the list.
    var transfers: [Transfer] {
        let all = self.state.withLock { Array($0.transfers.values) }
        return all.sorted { $0.position < $1.position }
    }

    /// The name of a transfer under way; nil once it has ended.
    func label(of id: TaskID) -> String? { self.state.withLock { $0.transfers[id]?.item }?.label }

    // MARK: The list

    /// Adds a transfer; waits while enough are ready.
    func add(_ item: FetchPlan.Item) async {
        let isFull = self.state.withLock { state in
            state.queue.add(item)
            return state.queue.isFull
        }
        self.startNext()
        guard isFull else { return }
        await withCheckedContinuation { continuation in
            let isNeeded = self.state.withLock { state in
                if !state.queue.needsMore { state.reader = continuation }
                return state.queue.needsMore
            }
            if isNeeded { continuation.resume() }
        }
    }

    /// A URL of the list cannot be transferred.
    func refuse() { self.state.withLock { $0.queue.tally.addRefused() } }

    /// The list could not be read to its end.
    func cutShort() { self.state.withLock { $0.queue.tally.cutShort() } }

    /// Nothing is added any more; waits until every transfer has ended and was reported.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isOver = self.state.withLock { state in
                state.queue.complete()
                if !state.queue.isOver { state.end = continuation }
                return state.queue.isOver
            }
            if isOver { continuation.resume() }
        }
        self.ends.finish()
    }

    /// Starts nothing any more; gives what is under way.
    func stop() -> [TransferTask] {
        let tasks = self.state.withLock { state in
            state.queue.stop()
            return state.transfers.values.map(\.task)
        }
        self.resumeWaiting()
        return tasks
    }

    private func resumeWaiting() {
        let (reader, end) = self.state.withLock { state in
            (state.queue.needsMore ? state.reader.take() : nil, state.queue.isOver ? state.end.take() : nil)
        }
        reader?.resume()
        end?.resume()
    }

    // MARK: Transfers

    private func startNext() {
        while let item = self.state.withLock({ $0.queue.next() }) { self.start(item) }
    }

    private func start(_ item: FetchPlan.Item) {
        let task = self.session.makeTask(item.request, options: item.options) { task, result in
            self.ended(task, item, result)
        }
        self.state.withLock { state in
            state.started += 1
            state.transfers[task.id] = Transfer(task: task, item: item, position: state.started)
        }
        task.resume()
    }

    private func ended(_ task: TransferTask, _ item: FetchPlan.Item, _ result: TaskResult) {
        let isReported = self.isReported(result)
        let next = self.state.withLock { state in
            state.transfers[task.id] = nil
            state.queue.ended(result, isReported: isReported)
            return state.queue.next()
        }
        if isReported { self.ends.yield(Ended(task: task, item: item, result: result)) }
        if let next { self.start(next) }
        self.resumeWaiting()
    }

    /// An end was reported.
    func reported() {
        self.state.withLock { $0.queue.reported() }
        self.startNext()
        self.resumeWaiting()
    }
}

/// How a run that was interrupted is continued, as something to paste into a shell.
enum FetchContinuation {
    /// Options whose values are secrets, or may hold some.
    private static let secrets = ["--user", "--header", "--proxy", "--data", "--json-body"]

    /// The command that continues a run with these arguments; nil if it could not be pasted, because it has secrets or
    /// read its list from standard input.
    static func command(_ arguments: [String]) -> String? {
        guard let fetch = arguments.firstIndex(of: "fetch") else { return nil }
        for (position, word) in arguments.enumerated() {
            let isStandardInput = word == "-" && position > 0 && arguments[position - 1] == "--input-file"
            if isStandardInput || word == "--input-file=-" || self.isSecret(word) || self.hasUserInfo(word) {
                return nil
            }
        }
        var line = arguments
        if !line.contains("--continue") { line.insert("--continue", at: fetch + 1) }
        return (["tidegate"] + line.map(ShellWord.quoted)).joined(separator: " ")
    }

    // Short options may have their values behind them without a space.
    private static func isSecret(_ word: String) -> Bool {
        word.hasPrefix("-u") || word.hasPrefix("-H")
            || self.secrets.contains { word == $0 || word.hasPrefix("\($0)=") }
    }

    private static func hasUserInfo(_ word: String) -> Bool {
        let parts = word.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, word.contains("://") else { return false }
        return parts[2].prefix { $0 != "/" && $0 != "?" && $0 != "#" }.contains("@")
    }
}

/// Which transfers of a list are next, and how many there are: the rules of ``FetchFeed``, without tasks or threads.
struct FetchQueue: Sendable {
    /// How many transfers are planned ahead.
    static let lookAhead = 256
    /// How many ends may wait to be reported: a terminal may be slower than the transfers.
    static let unreportedLimit = 256

    private let limit: Int
    private var ready: ArraySlice<FetchPlan.Item> = []
    private var active = 0
    private var unreported = 0
    private var isComplete = false
    /// True once nothing is started any more.
    private(set) var isStopped = false
    var tally = FetchTally()

    /// A queue that keeps `limit` transfers under way.
    init(limit: Int) { self.limit = limit }

    /// True if the list need not be read any further for now.
    var isFull: Bool { self.ready.count >= Self.lookAhead && !self.isStopped }

    /// True if the list is to be read on.
    var needsMore: Bool { self.ready.count < Self.lookAhead / 2 || self.isStopped }

    /// True once every transfer has ended and was reported.
    var isOver: Bool {
        self.active == 0 && self.unreported == 0 && (self.isStopped || self.isComplete && self.ready.isEmpty)
    }

    mutating func add(_ item: FetchPlan.Item) { self.ready.append(item) }

    /// The transfer to start now; nil if none may be.
    mutating func next() -> FetchPlan.Item? {
        guard !self.isStopped, self.active < self.limit, self.unreported < Self.unreportedLimit,
            let item = self.ready.popFirst()
        else { return nil }
        self.active += 1
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

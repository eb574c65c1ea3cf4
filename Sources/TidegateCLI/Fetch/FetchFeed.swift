internal import Synchronization
internal import Tidegate

/// Starts the transfers of a list as others end, so that only a bounded number is in memory.
///
/// A transfer that ends starts the next one on the session's thread, which avoids a thread switch.
final class FetchFeed: Sendable {
    /// A transfer under way.
    struct Transfer: Sendable {
        let task: TransferTask
        let item: FetchPlan.Item
        /// Its position in the list.
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
        /// Resumes the reader of the list, which waits while enough transfers are ready.
        var reader: CheckedContinuation<Void, Never>?
        /// Resumes the caller that waits for all transfers to end.
        var end: CheckedContinuation<Void, Never>?
    }

    private let session: Session
    private let isReported: @Sendable (TaskResult) -> Bool
    private let ends: AsyncStream<Ended>.Continuation
    private let state: Mutex<State>

    /// A feed that keeps `limit` transfers under way.
    ///
    /// The results that `isReported` selects go to `ends`, whose reader calls ``reported()`` after each.
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

    /// True once no more transfers are started.
    var isStopped: Bool { self.state.withLock { $0.queue.isStopped } }

    /// The transfers under way, in list order.
    var transfers: [Transfer] {
        let all = self.state.withLock { Array($0.transfers.values) }
        return all.sorted { $0.position < $1.position }
    }

    /// The name of a transfer under way; nil once it has ended.
    func label(of id: TaskID) -> String? { self.state.withLock { $0.transfers[id]?.item }?.label }

    // MARK: The list

    /// Adds a transfer; waits while enough others are ready.
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

    /// Counts a URL of the list that cannot be transferred.
    func refuse() { self.state.withLock { $0.queue.tally.addRefused() } }

    /// Records that the list could not be read to its end.
    func cutShort() { self.state.withLock { $0.queue.tally.cutShort() } }

    /// Ends the list, and waits until every transfer has ended and has been reported.
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

    /// Starts no more transfers; returns those under way.
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

    /// Records that a result has been reported.
    func reported() {
        self.state.withLock { $0.queue.reported() }
        self.startNext()
        self.resumeWaiting()
    }
}

/// How to continue an interrupted run, as a command to paste into a shell.
enum FetchContinuation {
    /// Options whose values may contain secrets.
    private static let secrets = ["--user", "--header", "--proxy", "--data", "--json-body"]

    /// The command that continues a run with these arguments.
    ///
    /// Nil if it cannot be pasted, because it contains secrets or read its list from standard input.
    static func command(_ arguments: [String]) -> String? {
        guard let fetch = arguments.firstIndex(of: "fetch") else { return nil }
        for (position, word) in arguments.enumerated() {
            let isStandardInput = word == "-" && position > 0 && arguments[position - 1] == "--input-file"
            // Bytes that are not UTF-8 are lost here.
            let isLossy = word.unicodeScalars.contains("\u{FFFD}")
            if isLossy || isStandardInput || word == "--input-file=-" || self.isSecret(word) || self.hasUserInfo(word) {
                return nil
            }
        }
        var line = arguments
        if !line.contains("--continue") { line.insert("--continue", at: fetch + 1) }
        return (["tidegate"] + line.map(ShellWord.quoted)).joined(separator: " ")
    }

    // The value of a short option may follow it without a space.
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

/// Decides which transfers of a list start next, and how many: the rules of ``FetchFeed``, without tasks or threads.
struct FetchQueue: Sendable {
    /// How many transfers are planned ahead.
    static let lookAhead = 256
    /// How many results may wait to be reported: a terminal may be slower than the transfers.
    static let unreportedLimit = 256

    private let limit: Int
    private var ready: ArraySlice<FetchPlan.Item> = []
    private var active = 0
    private var unreported = 0
    private var isComplete = false
    /// True once no more transfers are started.
    private(set) var isStopped = false
    var tally = FetchTally()

    /// A queue that keeps `limit` transfers under way.
    init(limit: Int) { self.limit = limit }

    /// True if the reader of the list should pause.
    var isFull: Bool { self.ready.count >= Self.lookAhead && !self.isStopped }

    /// True if the reader of the list should continue.
    var needsMore: Bool { self.ready.count < Self.lookAhead / 2 || self.isStopped }

    /// True once every transfer has ended and has been reported.
    var isOver: Bool {
        self.active == 0 && self.unreported == 0 && (self.isStopped || self.isComplete && self.ready.isEmpty)
    }

    mutating func add(_ item: FetchPlan.Item) { self.ready.append(item) }

    /// The next transfer to start; nil if none may start now.
    mutating func next() -> FetchPlan.Item? {
        guard !self.isStopped, self.active < self.limit, self.unreported < Self.unreportedLimit,
            let item = self.ready.popFirst()
        else { return nil }
        self.active += 1
        return item
    }

    /// Records that a transfer has ended; `isReported` says whether its result will be reported.
    mutating func ended(_ result: TaskResult, isReported: Bool) {
        self.active -= 1
        self.tally.add(result)
        if isReported { self.unreported += 1 }
    }

    mutating func reported() { self.unreported -= 1 }

    /// Records that the list has ended.
    mutating func complete() { self.isComplete = true }

    mutating func stop() { self.isStopped = true }
}

/// Counts the results of a run's transfers.
struct FetchTally: Sendable, Hashable {
    /// All transfers that ended, and the lines that are not URLs.
    private(set) var count = 0
    private(set) var failed = 0
    /// The failed transfers that found no path in time.
    private var gaveUp = 0
    /// True if the list could not be read to its end, which is a failure without a transfer.
    private var isCutShort = false

    mutating func add(_ result: TaskResult) {
        self.count += 1
        guard result.outcome != .success else { return }
        self.failed += 1
        if result.failure == .gateTimeout { self.gaveUp += 1 }
    }

    /// Counts a URL that cannot be transferred.
    mutating func addRefused() {
        self.count += 1
        self.failed += 1
    }

    /// Records that the list could not be read to its end.
    mutating func cutShort() { self.isCutShort = true }

    /// The exit status of the run; nil if every transfer succeeded.
    ///
    /// Each failure already has its own line, so the message only counts failures among several transfers.
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

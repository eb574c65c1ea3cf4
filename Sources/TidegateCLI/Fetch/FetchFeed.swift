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

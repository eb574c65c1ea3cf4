internal import Synchronization
internal import TidegateLoop
internal import TidegateCore

/// Who asked for what, what is known, and which threads are free.
final class LookupQueue: Sendable {
    typealias Completion = @Sendable (Result<[IPAddress], ResolveFailure>) -> Void

    private struct Answer {
        let addresses: [IPAddress]
        var expiry: MonotonicTime
        let epoch: UInt64
        /// Whether somebody has said how long it is good for.
        var isLifeKnown = false
    }

    /// An answer that is good now.
    struct Fresh: Sendable {
        let addresses: [IPAddress]
        /// How long it stays so, where that is known.
        let knownRest: Duration?
        fileprivate let epoch: UInt64
    }

    private struct Question {
        var waiting: [Completion] = []
        /// When its lookup began; nil while no thread has it.
        var epoch: UInt64?
    }

    private struct State {
        var answers: [String: Answer] = [:]
        var epoch: UInt64 = 0
        var asking: [String: Question] = [:]
        var queue: [String] = []
        var threads: [LoopThread<ResolverWorker>] = []
        var idle: [Int] = []
        var isClosed = false

        // The answer that ran out first goes: it is the one that was asked for the longest time ago.
        mutating func remember(_ answer: Answer, for name: String, limit: Int) {
            if let known = self.answers[name], known.epoch > answer.epoch { return }
            if self.answers.count >= limit, self.answers[name] == nil,
                let oldest = self.answers.min(by: { $0.value.expiry < $1.value.expiry })?.key
            {
                self.answers[oldest] = nil
            }
            self.answers[name] = answer
        }
    }

    /// What to do once the lock is released.
    private enum Step {
        case answer([IPAddress])
        case refuse
        case wait
        case wake(LoopThread<ResolverWorker>)
    }

    let lookup: Resolver.Lookup
    private let time: any TimeSource
    private let freshness: Duration
    private let limit: Int
    private let capacity: Int
    private let state = Mutex(State())

    init(
        time: any TimeSource, freshness: Duration, limit: Int, capacity: Int, lookup: @escaping Resolver.Lookup
    ) {
        self.time = time
        self.freshness = freshness
        self.limit = limit
        self.capacity = capacity
        self.lookup = lookup
    }

    func ask(_ name: String, _ completion: @escaping Completion) {
        let now = self.time.monotonic()
        let step = self.state.withLock { state -> Step in
            if let answer = state.answers[name], answer.epoch == state.epoch, now < answer.expiry {
                return .answer(answer.addresses)
            }
            guard !state.isClosed else { return .refuse }
            return self.enlist(name, completion, &state)
        }
        switch step {
        case .answer(let addresses): completion(.success(addresses))
        case .refuse: completion(.failure(.failed))
        case .wait: break
        case .wake(let worker): worker.send(.look)
        }
    }

    private func enlist(_ name: String, _ completion: @escaping Completion, _ state: inout State) -> Step {
        // A lookup that began before the path changed may take long, and its answer be the wrong network's.
        if let question = state.asking[name], question.epoch == nil || question.epoch == state.epoch {
            state.asking[name]?.waiting.append(completion)
            return .wait
        }
        let worker = self.freeWorker(&state)
        // Without a thread of its own a name waits for another's; without any thread nobody would ever look.
        guard !state.threads.isEmpty else { return .refuse }
        state.asking[name, default: Question()].epoch = nil
        state.asking[name]?.waiting.append(completion)
        state.queue.append(name)
        return worker.map(Step.wake) ?? .wait
    }

    func cached(_ name: String) -> [IPAddress]? { self.state.withLock { $0.answers[name]?.addresses } }

    /// The answer for a name while it is good; nil where it has to be asked for.
    func fresh(_ name: String) -> Fresh? {
        let now = self.time.monotonic()
        return self.state.withLock { state in
            guard let answer = state.answers[name], answer.epoch == state.epoch, now < answer.expiry else { return nil }
            let rest = answer.isLifeKnown ? answer.expiry - now : nil
            return Fresh(addresses: answer.addresses, knownRest: rest, epoch: answer.epoch)
        }
    }

    /// Takes in how long an answer is good for; one that has been replaced meanwhile is left alone.
    func lasts(_ name: String, _ answer: Fresh, for life: Duration) {
        let expiry = self.time.monotonic() + life
        self.state.withLock { state in
            guard let known = state.answers[name], known.epoch == answer.epoch, known.addresses == answer.addresses
            else { return }
            state.answers[name]?.expiry = expiry
            state.answers[name]?.isLifeKnown = true
        }
    }

    // Old answers stay as a last resort for gates; they are only no longer taken for fresh.
    func invalidate() { self.state.withLock { $0.epoch += 1 } }

    func close() {
        let (threads, forgotten) = self.state.withLock { state in
            state.isClosed = true
            let forgotten = state.asking.values.flatMap(\.waiting)
            state.asking = [:]
            state.queue = []
            return (state.threads, forgotten)
        }
        for thread in threads { thread.abandon() }
        for completion in forgotten { completion(.failure(.failed)) }
    }

    /// The next name for a worker, and the epoch its lookup belongs to; nil sends it to rest.
    func next(for worker: Int) -> (name: String, epoch: UInt64)? {
        self.state.withLock { state in
            guard !state.queue.isEmpty else {
                state.idle.append(worker)
                return nil
            }
            let name = state.queue.removeFirst()
            state.asking[name]?.epoch = state.epoch
            return (name, state.epoch)
        }
    }

    func finish(_ name: String, _ result: Result<[IPAddress], ResolveFailure>, askedIn epoch: UInt64) {
        let expiry = self.time.monotonic() + self.freshness
        let waiting = self.state.withLock { state -> [Completion] in
            if case .success(let addresses) = result {
                state.remember(
                    Answer(addresses: addresses, expiry: expiry, epoch: epoch), for: name, limit: self.capacity)
            }
            // Who asked again since then waits for the newer answer, and everybody else with him.
            guard state.asking[name]?.epoch == epoch else { return [] }
            return state.asking.removeValue(forKey: name)?.waiting ?? []
        }
        for completion in waiting { completion(result) }
    }

    private func freeWorker(_ state: inout State) -> LoopThread<ResolverWorker>? {
        if let idle = state.idle.popLast() { return state.threads[idle] }
        guard state.threads.count < self.limit else { return nil }
        let number = state.threads.count
        guard
            let thread = try? LoopThread<ResolverWorker>(
                name: "tg-dns-\(number + 1)", make: { _ in ResolverWorker(number: number, desk: self) })
        else { return nil }
        state.threads.append(thread)
        return thread
    }
}

/// One thread that looks names up until the desk has no more.
final class ResolverWorker: LoopHandler {
    enum Command: Sendable { case look }

    private let number: Int
    private let desk: LookupQueue

    init(number: Int, desk: LookupQueue) {
        self.number = number
        self.desk = desk
    }

    func receive(_ command: Command) {
        while let (name, epoch) = self.desk.next(for: self.number) {
            self.desk.finish(name, self.desk.lookup(name), askedIn: epoch)
        }
    }
}

internal import Synchronization
public import TidegateCore

/// A resolver that answers what a test tells it to, at once or when it is asked to.
public final class ScriptedResolver: NameResolver {
    private typealias Completion = @Sendable (Result<[IPAddress], ResolveFailure>) -> Void

    private struct State {
        var answers: [String: Result<[IPAddress], ResolveFailure>] = [:]
        var asked: [String] = []
        var pending: [(name: String, completion: Completion)] = []
        var isHolding = false
        var invalidations = 0
    }

    private let state = Mutex(State())

    /// A resolver that knows these names; others do not exist.
    public init(_ answers: [String: [IPAddress]] = [:]) {
        self.state.withLock { $0.answers = answers.mapValues { .success($0) } }
    }

    /// What it says about a name from now on.
    public func say(_ answer: Result<[IPAddress], ResolveFailure>, about name: String) {
        self.state.withLock { $0.answers[name] = answer }
    }

    /// Keeps answers back until ``answer()``.
    public func hold() { self.state.withLock { $0.isHolding = true } }

    /// Answers everything that was kept back, and answers at once from now on.
    public func answer() {
        let pending = self.state.withLock { state in
            state.isHolding = false
            defer { state.pending = [] }
            return state.pending
        }
        for question in pending { question.completion(self.reply(to: question.name)) }
    }

    /// The names asked for, in order.
    public var asked: [String] { self.state.withLock { $0.asked } }

    /// How often it was told that the path changed.
    public var invalidations: Int { self.state.withLock { $0.invalidations } }

    /// Answers at once, or when it is let.
    public func resolve(
        _ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void
    ) {
        let isHeld = self.state.withLock { state in
            state.asked.append(name)
            if state.isHolding { state.pending.append((name, completion)) }
            return state.isHolding
        }
        if !isHeld { completion(self.reply(to: name)) }
    }

    /// What it would answer.
    public func cached(_ name: String) -> [IPAddress]? { try? self.reply(to: name).get() }

    /// Counts.
    public func invalidate() { self.state.withLock { $0.invalidations += 1 } }

    private func reply(to name: String) -> Result<[IPAddress], ResolveFailure> {
        if let address = IPAddress(name) { return .success([address]) }
        return self.state.withLock { $0.answers[name] } ?? .failure(.nameNotFound)
    }
}

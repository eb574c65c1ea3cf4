internal import Synchronization
public import TidegateCore

/// A resolver with scripted answers, given immediately or when a test releases them.
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

    /// A resolver that knows these names; other names do not exist.
    public init(_ answers: [String: [IPAddress]] = [:]) {
        self.state.withLock { $0.answers = answers.mapValues { .success($0) } }
    }

    /// Sets the answer for a name.
    public func say(_ answer: Result<[IPAddress], ResolveFailure>, about name: String) {
        self.state.withLock { $0.answers[name] = answer }
    }

    /// Withholds answers until ``answer()``.
    package func hold() { self.state.withLock { $0.isHolding = true } }

    /// Releases the withheld answers, and answers immediately from now on.
    package func answer() {
        let pending = self.state.withLock { state in
            state.isHolding = false
            return exchange(&state.pending, with: [])
        }
        for question in pending { question.completion(self.reply(to: question.name)) }
    }

    /// The requested names, in order.
    public var asked: [String] { self.state.withLock { $0.asked } }

    /// How often ``invalidate()`` was called.
    package var invalidations: Int { self.state.withLock { $0.invalidations } }

    /// Answers immediately, or after ``answer()`` while answers are withheld.
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

    /// The addresses of a name.
    public func cached(_ name: String) -> [IPAddress]? { try? self.reply(to: name).get() }

    /// Counts the call.
    public func invalidate() { self.state.withLock { $0.invalidations += 1 } }

    private func reply(to name: String) -> Result<[IPAddress], ResolveFailure> {
        if let address = IPAddress(name) { return .success([address]) }
        return self.state.withLock { $0.answers[name] } ?? .failure(.nameNotFound)
    }
}

internal import Synchronization

/// A budget that all probes share, such as the memory for bodies; earlier shares have priority.
///
/// A share only gets an amount if every earlier share can still reach its maximum, as in the banker's algorithm. So no
/// deadlock is possible if each owner has one unsettled share and waits for nothing else.
final class ProbeBudget: Sendable {
    private struct Share {
        let id: UInt64
        var most: Int
        var held = 0
        /// The amount that it waits for, and the function to call once it has been taken.
        var waiting: (amount: Int, resume: @Sendable () -> Void)?
    }

    private struct State {
        /// In the order of opening.
        var shares: [Share] = []
        var lastID: UInt64 = 0
    }

    let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// The amount currently held.
    var held: Int { self.state.withLock { $0.shares.reduce(0) { $0 + $1.held } } }

    /// Opens a share that may hold up to `most`, bounded by the limit.
    func open(most: Int) -> UInt64 {
        self.state.withLock { state in
            state.lastID += 1
            state.shares.append(Share(id: state.lastID, most: min(most, self.limit)))
            return state.lastID
        }
    }

    /// Takes an amount for a share, within its maximum.
    ///
    /// Returns false if it is not available; `resume` is called once it has been taken.
    func take(_ amount: Int, for id: UInt64, resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            guard let place = state.shares.firstIndex(where: { $0.id == id }) else { return false }
            guard self.isFree(amount, at: place, state.shares) else {
                state.shares[place].waiting = (amount, resume)
                return false
            }
            state.shares[place].held += amount
            return true
        }
    }

    /// Waits for an amount for a share; false if it does not get it within `limit`, which `call` measures.
    func take(
        _ amount: Int, for id: UInt64, within limit: Duration,
        call: (_ delay: Duration, @escaping @Sendable () -> Void) -> Void
    ) async -> Bool {
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        if self.take(amount, for: id, resume: { answer.yield(true) }) { return true }
        call(limit) { answer.yield(false) }
        return await answers.first { _ in true } ?? false
    }

    /// Lowers the maximum of a share to what it holds, and cancels its wait.
    func settle(_ id: UInt64) {
        self.change { shares in
            for place in shares.indices where shares[place].id == id {
                (shares[place].most, shares[place].waiting) = (shares[place].held, nil)
            }
        }
    }

    /// Returns everything that the share holds.
    func close(_ id: UInt64) { self.change { shares in shares.removeAll { $0.id == id } } }

    private func change(_ change: (inout [Share]) -> Void) {
        let resumed = self.state.withLock { state in
            change(&state.shares)
            return state.shares.indices.compactMap { place -> (@Sendable () -> Void)? in
                guard let waiting = state.shares[place].waiting, self.isFree(waiting.amount, at: place, state.shares)
                else { return nil }
                state.shares[place].held += waiting.amount
                state.shares[place].waiting = nil
                return waiting.resume
            }
        }
        for resume in resumed { resume() }
    }

    // True if each earlier share can still reach its maximum, using what it and all later shares hold.
    private func isFree(_ amount: Int, at place: Int, _ shares: [Share]) -> Bool {
        var later = amount + shares[place...].reduce(0) { $0 + $1.held }
        for share in shares[..<place].reversed() {
            guard share.most + later <= self.limit else { return false }
            later += share.held
        }
        return true
    }
}

internal import TidegateCore
internal import TidegateNetwork

/// The engine's timers, one of each kind.
struct EngineTimers {
    enum Kind: UInt64 {
        case evaluate, debounce, periodic, expiry, hostnames, internet, targets
    }

    private let kernel: NetlinkClient
    private var armed: [Kind: (timer: NetlinkTimer, moment: MonotonicTime)] = [:]

    init(_ kernel: NetlinkClient) { self.kernel = kernel }

    /// Arms a timer for this moment instead of the one before; nil disarms it.
    mutating func arm(_ kind: Kind, at moment: MonotonicTime?) {
        if let old = self.armed[kind] {
            if old.moment == moment { return }
            self.kernel.cancel(old.timer)
        }
        self.armed[kind] = moment.map { (self.kernel.schedule(at: $0, token: kind.rawValue), $0) }
    }

    /// The timer that has fired; nil if the token belongs to no timer of the engine.
    mutating func fired(_ token: UInt64) -> Kind? {
        guard let kind = Kind(rawValue: token) else { return nil }
        self.armed[kind] = nil
        return kind
    }
}

/// Calls that are made once: after a delay, or when the engine stops; those waiting for the first status also with it.
struct DelayedCalls {
    typealias Call = @Sendable () -> Void

    // Lower tokens belong to the engine's timers.
    private static let firstToken: UInt64 = 1000

    private let kernel: NetlinkClient
    private var lastToken = DelayedCalls.firstToken
    private var calls: [UInt64: Call] = [:]
    private var waiting: Set<UInt64> = []

    init(_ kernel: NetlinkClient) { self.kernel = kernel }

    /// Adds a call; `isWaiting` if the first status makes it, too.
    mutating func add(after delay: Duration, isWaiting: Bool, _ call: @escaping Call) {
        self.lastToken += 1
        self.calls[self.lastToken] = call
        if isWaiting { self.waiting.insert(self.lastToken) }
        _ = self.kernel.schedule(at: self.kernel.now + delay, token: self.lastToken)
    }

    /// Makes the call of a timer, unless it was made.
    mutating func fired(_ token: UInt64) {
        self.waiting.remove(token)
        self.calls.removeValue(forKey: token)?()
    }

    /// Makes the calls that wait for the first status.
    mutating func releaseWaiting() {
        for token in self.waiting { self.calls.removeValue(forKey: token)?() }
        self.waiting = []
    }

    /// Makes every call.
    mutating func releaseAll() {
        for call in self.calls.values { call() }
        (self.calls, self.waiting) = ([:], [])
    }
}

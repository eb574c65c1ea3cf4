internal import TidegateCore
internal import TidegateLoop

/// The engine's timers, one of each kind, and one-time calls that run after a delay or when the engine stops.
struct EngineTimers {
    typealias Call = @Sendable () -> Void

    enum Kind: UInt64 {
        case evaluate, debounce, periodic, expiry, hostnames, internet, targets, diagnosis
    }

    private let loop: Loop
    private var armed: [Kind: (timer: TimerID, moment: MonotonicTime)] = [:]
    // The last token of a call; lower tokens belong to the timers.
    private var lastToken: UInt64 = 1000
    private var calls: [UInt64: Call] = [:]
    // Calls that the first status also triggers.
    private var waiting: [UInt64: Call] = [:]

    init(_ loop: Loop) { self.loop = loop }

    /// Arms a timer for this moment, which replaces the previous one; nil disarms it.
    mutating func arm(_ kind: Kind, at moment: MonotonicTime?) {
        if let old = self.armed[kind] {
            if old.moment == moment { return }
            self.loop.cancel(old.timer)
        }
        self.armed[kind] = moment.map { (self.loop.schedule(at: $0, token: kind.rawValue), $0) }
    }

    /// Adds a call; `isWaiting` if the first status also triggers it.
    mutating func call(after delay: Duration, isWaiting: Bool, _ call: @escaping Call) {
        self.lastToken += 1
        if isWaiting { self.waiting[self.lastToken] = call } else { self.calls[self.lastToken] = call }
        _ = self.loop.schedule(after: delay, token: self.lastToken)
    }

    /// Handles a token that fired; returns its timer, or nil for a call, which then runs unless it has already run.
    mutating func fired(_ token: UInt64) -> Kind? {
        guard let kind = Kind(rawValue: token) else {
            (self.calls.removeValue(forKey: token) ?? self.waiting.removeValue(forKey: token))?()
            return nil
        }
        self.armed[kind] = nil
        return kind
    }

    /// Runs the calls that wait for the first status.
    mutating func releaseWaiting() {
        for call in self.waiting.values { call() }
        self.waiting = [:]
    }

    /// Runs every call.
    mutating func releaseAll() {
        self.releaseWaiting()
        for call in self.calls.values { call() }
        self.calls = [:]
    }
}

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

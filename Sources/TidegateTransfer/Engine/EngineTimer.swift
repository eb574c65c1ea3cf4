/// What a timer of the engine's own is for.
enum EngineTimer: Hashable {
    /// libcurl has something to do.
    case curl
    /// A slot's rate limit lets its body go on.
    case rate(slot: Int)
    /// A slot's progress may be told again.
    case progress(slot: Int)

    /// Clients' tokens are below it.
    private static let first: UInt64 = 1 << 63

    init?(token: UInt64) {
        guard token >= EngineTimer.first else { return nil }
        let slot = Int((token - EngineTimer.first) >> 2)
        switch token & 3 {
        case 0: self = .curl
        case 1: self = .rate(slot: slot)
        default: self = .progress(slot: slot)
        }
    }

    /// What comes back when it fires.
    var token: UInt64 {
        switch self {
        case .curl: EngineTimer.first
        case .rate(let slot): EngineTimer.first + UInt64(slot) << 2 + 1
        case .progress(let slot): EngineTimer.first + UInt64(slot) << 2 + 2
        }
    }
}

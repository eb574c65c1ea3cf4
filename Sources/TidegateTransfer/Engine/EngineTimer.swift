/// The purpose of one of the engine's own timers.
enum EngineTimer: Hashable {
    /// libcurl's timer.
    case curl
    /// A transfer's body may continue under its rate limit.
    case rate(number: Int)
    /// A transfer's progress may be reported again.
    case progress(number: Int)

    /// Tokens of clients are below this.
    private static let first: UInt64 = 1 << 63

    init?(token: UInt64) {
        guard token >= EngineTimer.first else { return nil }
        let number = Int((token - EngineTimer.first) >> 2)
        switch token & 3 {
        case 0: self = .curl
        case 1: self = .rate(number: number)
        default: self = .progress(number: number)
        }
    }

    /// The token that identifies the timer when it fires.
    var token: UInt64 {
        switch self {
        case .curl: EngineTimer.first
        case .rate(let number): EngineTimer.first + UInt64(number) << 2 + 1
        case .progress(let number): EngineTimer.first + UInt64(number) << 2 + 2
        }
    }
}

internal import TidegateCore
internal import TidegateLoop

/// What one of the engine's own timers is for.
enum EngineTimer: Hashable {
    /// libcurl has something to do.
    case curl
    /// A transfer's rate limit lets its body go on.
    case rate(number: Int)
    /// A transfer's progress may be reported again.
    case progress(number: Int)

    /// Clients' tokens are below it.
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

    /// What comes back when it fires.
    var token: UInt64 {
        switch self {
        case .curl: EngineTimer.first
        case .rate(let number): EngineTimer.first + UInt64(number) << 2 + 1
        case .progress(let number): EngineTimer.first + UInt64(number) << 2 + 2
        }
    }
}

/// The one timer of the loop that serves libcurl; moved only when it would fire too late.
///
/// libcurl asks for another moment with every transfer, usually a later one: firing once too early costs less than
/// following it.
struct CurlTimer {
    private var armed: (id: TimerID, deadline: MonotonicTime)?

    /// It fired.
    mutating func fired() { self.armed = nil }

    /// Makes sure that the loop wakes at `deadline`.
    mutating func arm(at deadline: MonotonicTime?, on loop: Loop) {
        guard let deadline else { return }
        if let armed = self.armed {
            guard deadline < armed.deadline else { return }
            loop.cancel(armed.id)
        }
        self.armed = (loop.schedule(at: deadline, token: EngineTimer.curl.token), deadline)
    }
}

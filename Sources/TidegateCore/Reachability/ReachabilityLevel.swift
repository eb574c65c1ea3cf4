/// How far the kernel would let a packet go, and what was found there; ordered from blind to online.
public enum ReachabilityLevel: String, Sendable, CaseIterable, Comparable {
    /// The monitor is blind or still starting. Gates are open.
    case unknown
    /// No usable way out.
    case none
    /// Usable addresses, but no default path (families and the global scope only).
    case local
    /// The kernel would send a packet now, over a usable link, from a usable address. Gates open here.
    case routed
    /// Routed, but internet checks fail.
    case limited
    /// Routed, but a captive portal answers.
    case portal
    /// Internet checks succeeded.
    case online

    /// Orders levels as listed.
    public static func < (left: ReachabilityLevel, right: ReachabilityLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .unknown: 0
        case .none: 1
        case .local: 2
        case .routed: 3
        case .limited: 4
        case .portal: 5
        case .online: 6
        }
    }
}

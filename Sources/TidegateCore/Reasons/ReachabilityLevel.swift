/// How far the kernel would let a packet go, and what checks found there; ordered from unknown to online.
public enum ReachabilityLevel: String, Sendable, Comparable, MetricLabel {
    /// The kernel cannot be read, or the monitor is still starting. Gates are open.
    case unknown
    /// No usable path.
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

    // MARK: Text

    /// The level in a word or two, beside the name of what has it.
    package var word: String {
        switch self {
        case .unknown: "not known"
        case .none: "no path"
        case .local: "local only"
        case .routed: "routed"
        case .limited: "limited"
        case .portal: "behind a portal"
        case .online: "online"
        }
    }

    /// The level as a headline: `There is a route`.
    public var headline: String {
        switch self {
        case .unknown: "Unknown"
        case .none: "No network"
        case .local: "Local network only"
        case .routed: "There is a route"
        case .limited: "Limited"
        case .portal: "Behind a portal"
        case .online: "Online"
        }
    }
}

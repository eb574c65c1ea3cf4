/// What internet checks found: an input to the level, never one itself.
package enum Connectivity: Sendable, Hashable {
    /// No check was made, or its answer is too old to count.
    case unknown
    /// No check URL answered at all.
    case none
    /// A captive portal answers in their place; the URL it redirects to, if it gives one.
    case portal(location: String?)
    /// Some checks succeed, or answers come that are not the expected ones.
    case limited
    /// The checks succeed.
    case full

    /// The level that a routed family has with this; `routed` without a check.
    package var level: ReachabilityLevel {
        switch self {
        case .unknown: .routed
        case .none, .limited: .limited
        case .portal: .portal
        case .full: .online
        }
    }
}

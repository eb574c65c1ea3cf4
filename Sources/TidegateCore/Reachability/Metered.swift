/// Whether traffic on a path costs money, as far as is known.
public enum Metered: String, Sendable, CaseIterable, Hashable {
    /// Configured as metered.
    case yes
    /// Configured as not metered.
    case no
    /// Assumed metered from the type of link.
    case guessYes
    /// Assumed not metered from the type of link.
    case guessNo
    /// There is no path.
    case unknown

    /// True for `yes` and `guessYes`.
    package var isCostly: Bool { self == .yes || self == .guessYes }
}

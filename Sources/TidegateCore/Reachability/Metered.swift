/// Whether traffic on a path costs money, as far as can be told.
public enum Metered: String, Sendable, CaseIterable, Hashable {
    /// Configured as metered.
    case yes
    /// Configured as not metered.
    case no
    /// Judged metered by the type of link.
    case guessYes
    /// Judged not metered by the type of link.
    case guessNo
    /// There is no path to judge.
    case unknown

    /// True for `yes` and `guessYes`.
    public var isCostly: Bool { self == .yes || self == .guessYes }
}

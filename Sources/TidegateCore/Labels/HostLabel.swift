/// Whether metrics label attempts with the host; the number of series is bounded in any case.
public enum HostLabel: Sendable, Hashable {
    /// They do not.
    case off
    /// By these hosts; the others are one, `_other`.
    case allowlist(Set<String>)
    /// By every host, but by the first `limit` ones only; those that come later are one, `_other`, and are counted.
    case top(limit: Int)
}

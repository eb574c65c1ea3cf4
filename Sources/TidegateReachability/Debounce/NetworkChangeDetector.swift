internal import TidegateCore

/// Detects that the host is now on another network, where names may have other addresses.
struct NetworkChangeDetector {
    // By family, the path of the last routed verdict.
    private var paths: [AddressFamily: NetworkPath.Identity] = [:]

    /// Records a published change of the global verdict; true if it means another network.
    ///
    /// A change of the level over the same path is none, except that a portal which is gone no longer answers for
    /// every name. The first verdict is none either: no name was resolved before it.
    mutating func isNewNetwork(_ change: PathEvent) -> Bool {
        guard change.to.level >= .routed else { return false }
        let isFirst = change.lasted == nil
        guard let path = change.to.path, let family = path.source?.family else { return !isFirst }
        let before = self.paths.updateValue(path.identity, forKey: family)
        guard change.from.level >= .routed, change.from.level != .portal else { return !isFirst }
        return before != path.identity && !isFirst
    }
}

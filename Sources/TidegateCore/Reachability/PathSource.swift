/// Tells sessions whether there is a path to a target; reachability implements it.
public protocol PathSource: Sendable {
    /// The currently known verdict for a target, without waiting.
    ///
    /// A target that is not watched may be `unknown` until its name is resolved.
    func current(_ target: Target) -> TargetVerdict

    /// Calls `sink` with the target's verdict: once soon, then at every change, until the watch is cancelled.
    /// A change of ``TargetVerdict/internetLevel`` is one, too, so that a gate that requires `online` needs no polling.
    ///
    /// Calls come from one thread, in order; the sink must not block. A loss arrives at once, a gain once it is stable.
    func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch

    /// True while `address` is this host's, on a link in any state; true if the kernel cannot be read.
    ///
    /// A connection from an address that is still here survives a short loss of carrier; from one that is gone, never.
    func holdsAddress(_ address: IPAddress) -> Bool

    /// The verdict of a family, for gates that require more than a route to the target.
    func family(_ family: AddressFamily) -> Verdict

    /// Asks again whether a family is `online`: calls `completion` once, when checks that began after this call have
    /// decided, and ``family(_:)`` says so.
    func confirmInternet(over family: AddressFamily, completion: @escaping @Sendable () -> Void)

    /// True if `name` names the link of `path`: its own name, or an alternative one.
    func isInterface(_ name: String, of path: NetworkPath) -> Bool
}

extension PathSource {
    /// Calls back immediately; without checks of its own, a source has no newer answer.
    public func confirmInternet(over family: AddressFamily, completion: @escaping @Sendable () -> Void) { completion() }

    /// True if the link goes by this name; alternative names are not known here.
    public func isInterface(_ name: String, of path: NetworkPath) -> Bool { path.interface == name }
}

/// A watch on a target: keeps its verdicts coming until it is cancelled.
public struct PathWatch: Sendable {
    private let onCancel: @Sendable () -> Void

    /// A watch that `onCancel` ends.
    package init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Ends the watch; a call of the sink that is under way may still finish.
    public func cancel() { self.onCancel() }
}

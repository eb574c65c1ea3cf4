internal import Synchronization
public import TidegateCore

/// A path source with scripted verdicts; every target is routed until a test changes it.
public final class ScriptedPathSource: PathSource {
    private struct State {
        var verdicts: [Target: TargetVerdict] = [:]
        var standard: Verdict
        var families: [AddressFamily: Verdict] = [:]
        var gone: Set<IPAddress> = []
        var watches: [UInt64: (target: Target, sink: @Sendable (TargetVerdict) -> Void)] = [:]
        var lastWatch: UInt64 = 0
        var opened: [Target: Int] = [:]
        var isSilent = false
    }

    private let state: Mutex<State>

    /// A source in which every target has this verdict.
    public init(_ standard: Verdict = ScriptedPathSource.routed()) {
        self.state = Mutex(State(standard: standard))
    }

    /// A routed verdict over an interface.
    public static func routed(
        over interface: String = "lo", index: UInt32 = 1, source: String = "127.0.0.1", metered: Metered = .guessNo
    ) -> Verdict {
        Verdict(
            level: .routed,
            path: NetworkPath(interface: interface, index: index, source: IPAddress(source), metered: metered))
    }

    /// A verdict without a path.
    public static func lost(_ reason: UnreachableReason = .noCarrier) -> Verdict {
        Verdict(level: .none, reason: reason)
    }

    /// Sets the verdict of every target and calls every watch, on this thread.
    public func say(_ verdict: Verdict) {
        let calls = self.state.withLock { state in
            state.standard = verdict
            state.verdicts = [:]
            return state.watches.sorted { $0.key < $1.key }.map(\.value)
        }
        for call in calls { call.sink(TargetVerdict(target: call.target, verdict: verdict)) }
    }

    /// Sets the verdict of one target and calls its watches, on this thread.
    public func say(_ verdict: TargetVerdict) {
        let sinks = self.state.withLock { state in
            state.verdicts[verdict.target] = verdict
            return state.watches.sorted { $0.key < $1.key }.filter { $0.value.target == verdict.target }.map(
                \.value.sink)
        }
        for sink in sinks { sink(verdict) }
    }

    /// Sets the verdict of a family and calls every watch, on this thread; gates that require `online` use it.
    public func say(_ verdict: Verdict, for family: AddressFamily) {
        let calls = self.state.withLock { state in
            state.families[family] = verdict
            return state.watches.sorted { $0.key < $1.key }.map(\.value)
        }
        for call in calls { call.sink(self.current(call.target)) }
    }

    /// Adds or removes an address of this host, without calling any watch.
    public func hold(_ address: IPAddress, _ isHeld: Bool) {
        self.state.withLock { state in
            if isHeld { state.gone.remove(address) } else { state.gone.insert(address) }
        }
    }

    /// Makes new watches report nothing until the next change.
    package func beSilent() { self.state.withLock { $0.isSilent = true } }

    /// The number of watches ever opened for a target.
    package func watchesOpened(for target: Target) -> Int { self.state.withLock { $0.opened[target] ?? 0 } }

    /// The number of open watches.
    package var watches: Int { self.state.withLock { $0.watches.count } }

    /// The verdict of the target.
    public func current(_ target: Target) -> TargetVerdict {
        self.state.withLock { $0.verdicts[target] ?? TargetVerdict(target: target, verdict: $0.standard) }
    }

    /// Reports the current verdict and every change.
    public func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
        let (number, isSilent) = self.state.withLock { state in
            state.lastWatch += 1
            state.watches[state.lastWatch] = (target, sink)
            state.opened[target, default: 0] += 1
            return (state.lastWatch, state.isSilent)
        }
        if !isSilent { sink(self.current(target)) }
        return PathWatch { [weak self] in self?.state.withLock { _ = $0.watches.removeValue(forKey: number) } }
    }

    /// False if the address has been removed.
    public func holdsAddress(_ address: IPAddress) -> Bool { self.state.withLock { !$0.gone.contains(address) } }

    /// The verdict of the family.
    public func family(_ family: AddressFamily) -> Verdict {
        self.state.withLock { $0.families[family] ?? $0.standard }
    }
}

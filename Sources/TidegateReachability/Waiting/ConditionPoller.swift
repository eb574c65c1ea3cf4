internal import Synchronization
internal import TidegateCore

/// Checks the conditions that the kernel's state alone cannot decide, and keeps the results while they are valid.
final class ConditionPoller: Sendable {
    /// Checks a condition once, with its own time limit.
    typealias Check = @Sendable (WaitCondition, ReachabilityStatus) async -> ConditionEvidence

    private struct Entry {
        var interval = PollInterval()
        var evidence = ConditionEvidence.pending
        /// The paths on which the evidence was found.
        var paths: CurrentPaths?
        var isChecking = false
    }

    private let entries: Mutex<[WaitCondition: Entry]>
    private let check: Check
    private let onResult: @Sendable () -> Void

    /// Creates a poller for `conditions`; `onResult` is called after every check.
    init(_ conditions: [WaitCondition], check: @escaping Check, onResult: @escaping @Sendable () -> Void) {
        let polled = conditions.filter(\.needsChecking)
        self.entries = Mutex(Dictionary(polled.map { ($0, Entry()) }) { first, _ in first })
        self.check = check
        self.onResult = onResult
    }

    /// Starts the checks that are due; at most one at a time for each condition.
    func pollAll(_ status: ReachabilityStatus, at now: MonotonicTime) {
        let due = self.entries.withLock { entries in
            entries.keys.filter { condition in
                let paths = CurrentPaths(status, to: condition.target)
                guard var entry = entries[condition], !entry.isChecking, entry.interval.isDue(on: paths, at: now)
                else { return false }
                entry.interval.didPoll(on: paths, at: now)
                entry.isChecking = true
                entries[condition] = entry
                return true
            }
        }
        for condition in due {
            Task {
                let evidence = await self.check(condition, status)
                self.store(evidence, of: condition, on: CurrentPaths(status, to: condition.target))
            }
        }
    }

    private func store(_ evidence: ConditionEvidence, of condition: WaitCondition, on paths: CurrentPaths) {
        self.entries.withLock { entries in
            entries[condition]?.evidence = evidence
            entries[condition]?.paths = paths
            entries[condition]?.isChecking = false
        }
        self.onResult()
    }

    /// The evidence for a condition; pending if it was found on other paths than the current ones.
    func evidence(for condition: WaitCondition, in status: ReachabilityStatus) -> ConditionEvidence {
        self.entries.withLock { entries in
            guard let entry = entries[condition], entry.paths == CurrentPaths(status, to: condition.target) else {
                return .pending
            }
            return entry.evidence
        }
    }

    /// True while a check is running.
    var isChecking: Bool {
        self.entries.withLock { entries in entries.values.contains(where: \.isChecking) }
    }
}

extension WaitCondition {
    /// True if the kernel's state alone cannot decide it.
    var needsChecking: Bool {
        switch self {
        case .carrier, .address, .route, .host(_, nil): false
        case .gateway, .dns, .name, .internet, .host(_, _?), .url: true
        }
    }
}

/// Decides when a condition is checked again: soon after the paths change, otherwise with growing intervals.
struct PollInterval: Sendable {
    /// The interval after the first check.
    static let first: Duration = .seconds(1)
    /// The upper bound of the interval.
    static let longest: Duration = .seconds(10)
    /// The lower bound while paths keep changing.
    static let shortest: Duration = .milliseconds(250)

    private var interval = PollInterval.first
    private var last: (moment: MonotonicTime, paths: CurrentPaths)?

    /// True if the condition should be checked now.
    func isDue(on paths: CurrentPaths, at now: MonotonicTime) -> Bool {
        guard let last = self.last else { return true }
        return now - last.moment >= (last.paths == paths ? self.interval : PollInterval.shortest)
    }

    /// Records that a check was started.
    mutating func didPoll(on paths: CurrentPaths, at now: MonotonicTime) {
        if let last = self.last, last.paths == paths {
            self.interval = min(self.interval * 2, PollInterval.longest)
        } else {
            self.interval = PollInterval.first
        }
        self.last = (now, paths)
    }
}

/// The current paths: evidence is valid only on the paths on which it was found.
struct CurrentPaths: Sendable, Hashable {
    private let paths: [NetworkPath.Identity?]

    /// The families' default paths, and those to a target's addresses.
    init(_ status: ReachabilityStatus, to target: Target? = nil) {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        let verdicts = status.families.map(\.verdict) + addresses.map(\.verdict)
        self.paths = verdicts.map { $0.level >= .routed ? $0.path?.identity : nil }
    }
}

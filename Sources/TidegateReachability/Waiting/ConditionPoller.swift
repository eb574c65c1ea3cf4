internal import Synchronization
internal import TidegateCore

/// Checks the conditions that the kernel's state alone cannot decide, and keeps the results while they are valid.
final class ConditionPoller: Sendable {
    /// Checks a condition once, within a time of its own.
    typealias Check = @Sendable (WaitCondition, ReachabilityStatus) async -> ConditionEvidence

    private struct Entry {
        var interval = PollInterval()
        var evidence = ConditionEvidence.pending
        /// The paths that the evidence was found on.
        var paths: CurrentPaths?
        var isChecking = false
    }

    private let entries: Mutex<[WaitCondition: Entry]>
    private let check: Check
    private let onResult: @Sendable () -> Void

    /// A poller of `conditions`; `onResult` is called after every check.
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

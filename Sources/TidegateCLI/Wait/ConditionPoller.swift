internal import Synchronization
internal import Tidegate

/// Asks about conditions that the kernel's state alone does not answer, and keeps the answers while they are good.
final class ConditionPoller: Sendable {
    /// Asks once; has to end by itself.
    typealias Asker = @Sendable (WaitCondition, ReachabilityStatus) async -> ConditionEvidence

    private struct Entry {
        var rhythm = PollInterval()
        var evidence = ConditionEvidence.pending
        // The ways that the evidence was found on.
        var ways: Ways?
        var isAsking = false
    }

    private let entries: Mutex<[WaitCondition: Entry]>
    private let ask: Asker
    private let onAnswer: @Sendable () -> Void

    /// A desk for these conditions; `onAnswer` is called after every answer.
    init(_ conditions: [WaitCondition], asker: @escaping Asker, onAnswer: @escaping @Sendable () -> Void) {
        let asked = conditions.filter(\.needsAsking)
        self.entries = Mutex(Dictionary(asked.map { ($0, Entry()) }) { first, _ in first })
        self.ask = asker
        self.onAnswer = onAnswer
    }

    /// Starts to ask what is due to be asked; one question at a time for each condition.
    func askAround(_ status: ReachabilityStatus, at now: MonotonicTime) {
        let due = self.entries.withLock { entries in
            entries.keys.filter { condition in
                let ways = Ways(status, to: condition.target)
                guard var entry = entries[condition], !entry.isAsking, entry.rhythm.isDue(on: ways, at: now) else {
                    return false
                }
                entry.rhythm.asked(on: ways, at: now)
                entry.isAsking = true
                entries[condition] = entry
                return true
            }
        }
        for condition in due {
            Task {
                let evidence = await self.ask(condition, status)
                self.take(evidence, of: condition, on: Ways(status, to: condition.target))
            }
        }
    }

    private func take(_ evidence: ConditionEvidence, of condition: WaitCondition, on ways: Ways) {
        self.entries.withLock { entries in
            entries[condition]?.evidence = evidence
            entries[condition]?.ways = ways
            entries[condition]?.isAsking = false
        }
        self.onAnswer()
    }

    /// What is known about a condition; an answer found on other ways than those of now is none.
    func evidence(for condition: WaitCondition, in status: ReachabilityStatus) -> ConditionEvidence {
        self.entries.withLock { entries in
            guard let entry = entries[condition], entry.ways == Ways(status, to: condition.target) else {
                return .pending
            }
            return entry.evidence
        }
    }

    /// True while an answer is awaited.
    var isAsking: Bool { self.entries.withLock { entries in entries.values.contains(where: \.isAsking) } }
}

extension WaitCondition {
    /// True where the kernel's state does not answer.
    var needsAsking: Bool {
        switch self {
        case .carrier, .address, .route, .host(_, nil): false
        case .gateway, .dns, .internet, .host(_, _?): true
        }
    }
}

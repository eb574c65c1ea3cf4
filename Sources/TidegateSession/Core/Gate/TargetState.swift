internal import TidegateCore
internal import TidegateTransfer

/// Who asks for one target: its watch, its addresses, and the tasks that wait for either.
final class TargetState {
    let number: UInt64
    let target: Target
    var watch: PathWatch?
    /// What is known of the target; nil before the first word.
    private(set) var known: KnownVerdict?
    /// Tasks that use this desk.
    var members: Set<UInt64> = []
    /// Tasks that wait for the first verdict.
    var unanswered: [UInt64] = []
    /// Tasks that found the gate shut, in the order they came.
    var waiting: [UInt64] = []

    var addresses: Addresses = .unknown
    /// Counts questions, so that an answer from before a change is not taken for a new one.
    var question = 0
    var resolving: [UInt64] = []
    var askedAt: MonotonicTime?

    /// What was known when the connections of the current epoch were made.
    var used: KnownVerdict?
    var usedEpoch = 0
    var lostSince: MonotonicTime?
    var lastInterface: String?

    /// The task that goes first after an outage, and those that follow it.
    var canary: UInt64?
    var followers: [UInt64] = []
    /// How many canaries in a row never got a connection.
    var canariesFailed = 0
    /// True while the next canary is waited for.
    var isBetweenCanaries = false

    var alarms: [Alarm: TransferTimer] = [:]

    enum Addresses {
        case unknown
        case asking
        case known([IPAddress], until: MonotonicTime)
    }

    /// What a desk's timers are for.
    enum Alarm: UInt64, CaseIterable {
        case firstVerdict, canary, lookAgain, leave
    }

    init(number: UInt64, target: Target) {
        self.number = number
        self.target = target
    }

    var verdict: TargetVerdict? { self.known?.verdict }

    /// The way that connections of the current epoch take.
    var usedPath: NetworkPath? { self.used?.verdict.verdict.path }

    func learn(_ verdict: TargetVerdict) { self.known = KnownVerdict(verdict) }

    /// False while it is known that nothing leads to the target; without copying the verdict.
    var hasRoute: Bool {
        guard let level = self.known?.verdict.verdict.level else { return true }
        return level == .unknown || level >= .routed
    }

    /// The verdict that an attempt to `remote` goes by.
    func verdict(for remote: IPAddress?) -> Verdict {
        guard let remote, let addresses = self.verdict?.addresses, !addresses.isEmpty,
            let own = addresses.first(where: { $0.address == remote })
        else { return self.verdict?.verdict ?? .unknown }
        return own.verdict
    }
}

/// A verdict as it came; desks and attempts keep it as one reference.
final class KnownVerdict {
    let verdict: TargetVerdict

    init(_ verdict: TargetVerdict) { self.verdict = verdict }
}

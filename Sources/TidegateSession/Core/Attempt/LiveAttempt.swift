internal import TidegateCore
internal import TidegateTransfer

extension AttemptID {
    // The task's number and, in the last 24 bits, the attempt's.
    init(of record: TaskRecord) {
        self.init(rawValue: record.number << 24 | UInt64(record.machine.attempts) & 0xFF_FFFF)
    }

    /// The number of the task that the attempt is one of.
    var task: UInt64 { self.rawValue >> 24 }
}

/// One try while it lasts.
final class LiveAttempt {
    let id: AttemptID
    let number: Int
    let started: MonotonicTime
    /// What was known of its target when it began.
    private let known: KnownVerdict?
    /// The network epoch it belongs to.
    var epoch = 0
    /// How long the name took; nil where none was asked for.
    var resolve: Duration?
    /// True once the engine has it.
    var isLaunched = false
    /// True where its body waits for a hook.
    var awaitsDisposition = false
    /// True while a hook is asked about it.
    var isDeciding = false
    var contact: ConnectionFacts?
    var head: ResponseHead?
    private var ownPath: NetworkPath?
    var progress: AttemptProgress
    /// What of the progress has been told.
    var told = TaskEvent.ByteCounts()
    var wasTold = false
    /// Bytes of the body that had never been here before.
    var gained: Int64 = 0
    /// When the path came back within the grace.
    var returned: MonotonicTime?
    /// Where the next continuation record is due.
    var nextRecord: MonotonicTime

    init(id: AttemptID, number: Int, started: MonotonicTime, knowing known: KnownVerdict?) {
        self.id = id
        self.number = number
        self.started = started
        self.known = known
        self.progress = AttemptProgress(lastActivity: started)
        self.nextRecord = started
    }

    /// The verdict when it began.
    var before: Verdict { self.known?.verdict.verdict ?? .unknown }

    /// The way it takes; nil while unknown.
    var path: NetworkPath? {
        get { self.ownPath ?? self.known?.verdict.verdict.path }
        set { self.ownPath = newValue }
    }
}

/// One try once it is over, whoever ended it.
struct AttemptEnd {
    let live: LiveAttempt
    var failure: TaskFailure?
    var kind: FailureClass
    var text: String
    var reachedWire: Bool
    var outcome: AttemptOutcome
    var resolveFailure: ResolveFailure?

    /// The engine ended it.
    init(_ live: LiveAttempt, _ outcome: AttemptOutcome) {
        self.live = live
        self.failure = outcome.failure
        self.text = outcome.text
        self.reachedWire = outcome.reachedWire
        self.outcome = outcome
        self.kind =
            outcome.curlFailureClass ?? outcome.failure.map(FailureClass.init(of:)) ?? .status
        // What we judged ourselves outweighs the code of the abort that carried it out.
        switch outcome.failure {
        case .httpStatus, .tooLarge, .diskFull, .fileError, .bodyChanged, .rangeMismatch, .outcomeUnknown:
            self.kind = outcome.failure.map(FailureClass.init(of:)) ?? self.kind
        default: break
        }
    }

    /// We ended it.
    init(_ live: LiveAttempt, _ failure: TaskFailure, _ text: String, at now: MonotonicTime) {
        self.live = live
        self.failure = failure
        self.kind = FailureClass(of: failure)
        self.text = text
        self.reachedWire = live.contact != nil
        var outcome = AttemptOutcome(progress: live.progress, started: live.started, ended: now)
        outcome.contact = live.contact
        outcome.head = live.head
        self.outcome = outcome
    }

    func summary(of hop: RedirectRule.Hop) -> AttemptSummary {
        var phases = self.outcome.phases
        phases.resolve = self.live.resolve
        return AttemptSummary(
            number: self.live.number, method: hop.method, host: hop.url.target.host, status: self.outcome.head?.status,
            duration: self.outcome.ended - self.live.started, phases: phases,
            receivedWire: self.outcome.progress.receivedWire, sent: self.outcome.progress.sent,
            connectionsOpened: self.outcome.connectionsOpened, remote: self.outcome.contact?.remote,
            local: self.outcome.contact?.local)
    }
}

internal import TidegateCore
internal import TidegateTransfer

/// One attempt once it is over: the engine ended it, or the session did.
struct AttemptEnd {
    let live: LiveAttempt
    var failure: TaskFailure?
    var kind: FailureClass
    var text: String
    var reachedWire: Bool
    var resolveFailure: ResolveFailure?
    /// Bytes of the body that had never been here before.
    var gained: Int64 = 0

    private let whole: Indirect<AttemptOutcome>

    /// The engine ended it.
    init(_ live: LiveAttempt, _ outcome: Indirect<AttemptOutcome>) {
        self.live = live
        self.whole = outcome
        (self.failure, self.text) = (outcome.value.failure, outcome.value.text)
        self.reachedWire = outcome.value.reachedWire
        guard let failure = outcome.value.failure else {
            self.kind = .status
            return
        }
        // What the head says outweighs how the body ended.
        let isByHead = failure == .httpStatus || failure == .rangeMismatch
        self.kind = (isByHead ? nil : outcome.value.curlFailureClass) ?? FailureClass(of: failure)
    }

    /// The session ended it.
    init(
        _ live: LiveAttempt, _ failure: TaskFailure, _ text: String, at now: MonotonicTime, isConnected: Bool = false,
        failedConnect: FailedConnect? = nil
    ) {
        var outcome = AttemptOutcome(progress: live.progress, started: live.started, ended: now)
        (outcome.failure, outcome.text) = (failure, text)
        (outcome.head, outcome.connection) = (live.head, live.contact)
        (outcome.isConnected, outcome.failedConnect) = (isConnected, failedConnect)
        outcome.reachedWire = live.contact != nil
        self.init(live, Indirect(outcome))
    }

    var outcome: AttemptOutcome { self.whole.value }

    /// The same end with another failure.
    func with(_ failure: TaskFailure, _ text: String) -> AttemptEnd {
        var end = self
        end.failure = failure
        end.kind = FailureClass(of: failure)
        end.text = text
        return end
    }

    /// How many bytes of the body a task that ends with this attempt has brought.
    func delivered(with partial: PartialBody) -> Int64 {
        let progress = self.outcome.progress
        if self.outcome.head?.range == .alreadyComplete { return max(0, partial.offset - partial.start) }
        return max(0, progress.offset + progress.received - partial.start)
    }

    /// Whether it brought enough new bytes, in absolute terms or as a share of the whole.
    func madeProgress(with partial: PartialBody) -> Bool {
        partial.resumePoint != nil && self.gained >= max(65_536, (partial.total ?? 0) / 100)
    }

    /// When the server asks to be asked again; nil if it does not say.
    func retryAfter(now: WallTime) -> RetryAfter? {
        guard self.failure == .httpStatus, let head = self.outcome.head, let field = head.field("Retry-After") else {
            return nil
        }
        return RetryAfter.parse(field, date: head.field("Date"), now: now)
    }

    /// Whether it failed because no descriptor was free.
    var lackedDescriptor: Bool {
        self.outcome.lackedDescriptor || self.resolveFailure != nil && DescriptorShortage.isNow
    }

    var status: Int? { self.outcome.head?.status }

    /// Whether a connection stood.
    var isConnected: Bool { self.outcome.isConnected || self.live.contact != nil }

    /// True if no connection came about although something was sent.
    var missedPeer: Bool {
        guard !self.isConnected, self.outcome.peer != nil, let failure = self.failure else { return false }
        return [.connectFailed, .timedOut, .stalled, .deadlineExceeded].contains(failure)
    }

    /// What the attempt was doing when it ended; nil if it had not begun.
    var stage: Stage? {
        if self.resolveFailure != nil { return .resolve }
        if self.outcome.head != nil { return .body }
        if self.reachedWire { return .response }
        guard self.live.isLaunched else { return nil }
        return self.isConnected ? .tls : .connect
    }

    func summary(of record: TaskRecord) -> AttemptSummary {
        let hop = record.hop
        var phases = self.outcome.phases
        phases.resolve = self.live.resolve
        return AttemptSummary(
            number: self.live.number, method: hop.method, host: hop.url.target.host, status: self.outcome.head?.status,
            duration: self.outcome.ended - self.live.started, phases: phases,
            receivedWire: self.outcome.progress.receivedWire, sent: self.outcome.progress.sent,
            connectionsOpened: self.outcome.connectionsOpened, remote: self.outcome.connection?.remote,
            local: self.outcome.connection?.local, tryNumber: self.live.numbers.try,
            isSent: self.reachedWire || self.outcome.head != nil, tls: self.outcome.tls, span: record.attempt.span)
    }
}
